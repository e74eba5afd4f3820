package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/ports"
)

// checks runs the command and yields its exit code and what it wrote.
func checks(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), append([]string{"check"}, args...), &o, &e)
	return code, o.String(), e.String()
}

func decoded(t *testing.T, text string) result {
	t.Helper()
	var r result
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("decoding %q: %v", text, err)
	}
	return r
}

func find(r result, name trust.Capability) capabilityResult {
	for _, c := range r.Capabilities {
		if c.Name == string(name) {
			return c
		}
	}
	return capabilityResult{}
}

func TestAnHonestAgentIsHonouredAndCapabilitiesWithoutFixtureDoNotCount(t *testing.T) {
	t.Parallel()
	code, out, errs := checks(t, agent.New().Start(t), "-o", "json")
	r := decoded(t, out)
	if code != exitHonored {
		t.Errorf("exit code %d, want 0\n%s%s", code, out, errs)
	}
	if c := find(r, trust.Streaming); c.State != "Trusted" || c.Declared != "Declared" || len(c.Observed) == 0 {
		t.Errorf("Streaming is %+v, want Trusted with what was observed", c)
	}
	if c := find(r, trust.Cancellation); c.Reason != "NoFixture" {
		t.Errorf("Cancellation is %+v, want NoFixture", c)
	}
	if r.Decision.Path != "Streaming" || r.Decision.Expiration == nil {
		t.Errorf("the decision is %+v, want Streaming until some time", r.Decision)
	}
	if !strings.Contains(errs, "streaming") {
		t.Errorf("no progress was shown, only %q", errs)
	}
}

func TestARepeatedContradictionIsDemotedAfterThreeRounds(t *testing.T) {
	t.Parallel()
	code, out, _ := checks(t, agent.New(agent.Preset("empty-stream")).Start(t), "--rounds", "3", "--interval", "0s", "-o", "json")
	if code != exitDiverged {
		t.Errorf("exit code %d, want 1", code)
	}
	r := decoded(t, out)
	if c := find(r, trust.Streaming); c.State != "Demoted" || c.Reason != "StreamEmpty" {
		t.Errorf("Streaming is %+v, want Demoted StreamEmpty", c)
	}
	if r.Rounds != 3 || r.Decision.Path != "SingleShot" {
		t.Errorf("%d rounds, decision %+v, want 3 and SingleShot", r.Rounds, r.Decision)
	}
}

func TestAClosedPortCannotBeTold(t *testing.T) {
	t.Parallel()
	code, out, _ := checks(t, "http://"+ports.Closed(t))
	if code != exitUnclear {
		t.Errorf("exit code %d, want 2", code)
	}
	if !strings.Contains(out, "Unreachable") || strings.Contains(out, "NotDeclared") {
		t.Errorf("got\n%s\nwant Unreachable, and nothing said of what a card that nobody read declares", out)
	}
}

func TestWhatCannotBeUsedIsSaidWithWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no URL":                      {nil, "want one: the URL of the agent"},
		"two URLs":                    {[]string{"http://a", "http://b"}, "got 2 arguments"},
		"an empty URL":                {[]string{""}, "the URL is empty"},
		"a URL without scheme":        {[]string{"localhost:9001"}, "such as http://localhost:9001"},
		"a URL without host":          {[]string{"http://"}, "has no host"},
		"another scheme":              {[]string{"ftp://host"}, "want http or https"},
		"a user name":                 {[]string{"http://me@host"}, "--bearer-token-file"},
		"a port out of range":         {[]string{"http://host:99999"}, "want 1 to 65535"},
		"a fragment":                  {[]string{"http://host#x"}, "leave out everything from the # on"},
		"no round":                    {[]string{"http://host", "--rounds", "0"}, "want 1 to 100"},
		"a negative pause":            {[]string{"http://host", "--interval", "-1s"}, "want 0s or more"},
		"another output":              {[]string{"http://host", "-o", "xml"}, "want table or json"},
		"a relative card path":        {[]string{"http://host", "--card-path", "card"}, "starts with one /"},
		"a card path that is a host":  {[]string{"http://host", "--card-path", "//evil/x"}, "starts with one /"},
		"a version that is none":      {[]string{"http://host", "--protocol-version", "abc"}, "such as 1.0 or 0.3"},
		"a binding that is none":      {[]string{"http://host", "--binding", "SOAP"}, "want JSONRPC, HTTP+JSON or GRPC"},
		"an empty message":            {[]string{"http://host", "--message", ""}, "leave the flag out"},
		"no wait at all":              {[]string{"http://host", "--wait-deadline", "0s"}, "more than 0s"},
		"urlFrom that is none":        {[]string{"http://host", "--url-from", "Spec"}, "want Card or Endpoint"},
		"a range that is none":        {[]string{"http://host", "--allow-cidrs", "10.0.0.1"}, "such as 10.0.0.0/8"},
		"an origin with a path":       {[]string{"http://host", "--allow-origins", "https://a/b"}, "such as https://api.example.com"},
		"an unknown flag":             {[]string{"http://host", "--round", "3"}, "unknown flag: --round"},
		"no such file":                {[]string{"http://host", "--probes", "/nowhere/at/all"}, "no such file"},
		"an unknown field":            {[]string{"http://host", "--probes", file("mesage: {}")}, `unknown field "mesage"`},
		"a doubled field":             {[]string{"http://host", "--probes", file("behavior: {}\nbehavior: {}")}, "already set"},
		"a string for an object":      {[]string{"http://host", "--probes", file("message: ping")}, "message is a string, want an object"},
		"a duration that is none":     {[]string{"http://host", "--probes", file("behavior: {taskTimeout: soon}")}, `behavior.taskTimeout is "soon"`},
		"a number for a duration":     {[]string{"http://host", "--probes", file("behavior: {taskTimeout: 30}")}, "behavior.taskTimeout is 30, want a duration"},
		"a duration out of bounds":    {[]string{"http://host", "--probes", file("behavior: {taskTimeout: 0s}")}, "want 100ms to 168h"},
		"a message without parts":     {[]string{"http://host", "--probes", file("message: {parts: []}")}, "want at least one part"},
		"a part of two kinds":         {[]string{"http://host", "--probes", file("message: {parts: [{text: a, raw: YQ==}]}")}, "want exactly one"},
		"two documents":               {[]string{"http://host", "--probes", file("message: {parts: [{text: a}]}\n---\nx: 1\n")}, "several documents"},
		"an empty token":              {[]string{"http://host", "--bearer-token-file", file("\n")}, "is empty"},
		"two tokens":                  {[]string{"http://host", "--bearer-token-file", file("a\nb\n")}, "more than one line"},
		"certificates that are none":  {[]string{"http://host", "--ca-file", file("hello")}, "certificate"},
		"standard input for two":      {[]string{"http://host", "--probes", "-", "--bearer-token-file", "-"}, "both read standard input"},
		"two credentials":             {[]string{"http://host", "--bearer-token-file", file("a"), "--basic-file", file("a:b")}, "choose one"},
		"a header without a file":     {[]string{"http://host", "--header-file", "X-API-Key"}, "wants NAME=FILE"},
		"a header of the protocol":    {[]string{"http://host", "--header-file", "A2A-Version=" + file("s3cret")}, "A2A-Version"},
		"a user without a password":   {[]string{"http://host", "--basic-file", file("me")}, "a user name, a colon and a password"},
		"a token endpoint alone":      {[]string{"http://host", "--oauth2-token-url", "https://login"}, "--oauth2-client-id"},
		"a client alone":              {[]string{"http://host", "--oauth2-client-id", "me"}, "name the token endpoint"},
		"a certificate alone":         {[]string{"https://host", "--client-certificate", file("x")}, "set both"},
		"a certificate that is none":  {[]string{"https://host", "--client-certificate", file("x"), "--client-key", file("y")}, "not a certificate"},
		"a pin over http":             {[]string{"http://host", "--pin-spki", "AAAA"}, "write https"},
		"a pin that is none":          {[]string{"https://host", "--pin-spki", "AAAA"}, "43 characters and ="},
		"keys that are none":          {[]string{"https://host", "--card-keys", file("hello")}, "--card-keys"},
		"keys of somebody else":       {[]string{"https://host", "--jwks-url", "https://elsewhere/jwks.json"}, "--allow-origins"},
		"a wait that is out of range": {[]string{"http://host", "--wait-deadline", "2h"}, "at most 1h"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := checks(t, c.args...)
			if code != exitUsage {
				t.Errorf("exit code %d, want 3", code)
			}
			if !strings.Contains(errs, c.want) || out != "" {
				t.Errorf("said %q and %q, want %q on standard error alone", errs, out, c.want)
			}
		})
	}
}

func TestTheExchangeIsShownAndMadeHarmless(t *testing.T) {
	t.Parallel()
	code, out, errs := checks(t, agent.New().Start(t), "-v", "-o", "json")
	if code != exitHonored {
		t.Fatalf("exit code %d", code)
	}
	decoded(t, out) // the exchange is not mixed into it
	for _, want := range []string{"> GET http://", "SendStreamingMessage", "TASK_STATE_COMPLETED", "stream ended: end"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the exchange lacks %q:\n%s", want, errs)
		}
	}
	for in, want := range map[string]string{
		"plain text, Grüße":       "plain text, Grüße",
		"\x1b[31mred\x1b[0m":      `\u001b[31mred\u001b[0m`,
		"a\u202eb":                `a\u202eb`,
		"bell\a, C1 \u009b, \xff": `bell\u0007, C1 \u009b, \xff`,
		"a genuine \ufffd":        "a genuine \ufffd",
	} {
		if got := harmless(in); got != want {
			t.Errorf("harmless(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestAnInterruptedCheckSaysSoAndReportsWhatItHas(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := run(ctx, []string{"check", agent.New().Start(t), "-o", "json"}, &out, &errs)
	if code != exitUnclear || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d, said %q, want 2 and that it was interrupted", code, errs.String())
	}
	decoded(t, out.String())
}

// A peer on this machine can call us without a flag; one that lies is found out where the user says that it can.
func TestPushIsJudgedAgainstAPeerOnThisMachine(t *testing.T) {
	honest := agent.New(agent.Is("push")).Start(t)
	code, out, errs := checks(t, honest, "-o", "json")
	if push := find(decoded(t, out), trust.PushNotifications); push.Outcome != string(trust.Honored) || code != exitHonored {
		t.Errorf("code %d, %+v\n%s", code, push, errs)
	}

	file := filepath.Join(t.TempDir(), "probes.yaml")
	if err := os.WriteFile(file, []byte("push: {reachable: true}\nbehavior: {taskTimeout: 3s, firstEventTimeout: 3s, idleTimeout: 3s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Refusing needs no patience: its word counts at once.
	code, out, _ = checks(t, agent.New(agent.Is("push-unknown")).Start(t), "--probes", file, "-o", "json")
	if push := find(decoded(t, out), trust.PushNotifications); push.Reason != string(trust.ReasonPushConfigRefused) || code != exitDiverged {
		t.Errorf("code %d, %+v", code, push)
	}

	for _, c := range []struct {
		want string
		args []string
	}{
		{"--callback-listen", []string{"https://planner.example.com", "--callback-url", "https://here.example.com/"}},
		{"--callback-url", []string{honest, "--callback-listen", ":0"}},
		{"--callback-url", []string{honest, "--callback-listen", ":0", "--callback-url", "here"}},
		{"--callback-listen", []string{honest, "--callback-listen", "nowhere"}},
	} {
		if code, _, errs := checks(t, c.args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%q: code %d, %q", c.args, code, errs)
		}
	}
}
