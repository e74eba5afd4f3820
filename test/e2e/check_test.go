package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/ports"
	"github.com/agentpeer/agentpeer/test/sdk"
)

// checked is the JSON of `agentpeer check -o json` as docs/check.md promises it. It stands here once more, because
// programs out there have written it down too.
type checked struct {
	Peer      string `json:"peer"`
	Rounds    int    `json:"rounds"`
	Tasks     int    `json:"tasks"`
	Reachable struct {
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"reachable"`
	Card struct {
		ClaimsDigest string `json:"claimsDigest"`
		Interface    *struct {
			Binding         string `json:"binding"`
			ProtocolVersion string `json:"protocolVersion"`
			URL             string `json:"url"`
			Spoken          string `json:"spoken"`
		} `json:"interface"`
		Interfaces []struct {
			Binding         string `json:"binding"`
			ProtocolVersion string `json:"protocolVersion"`
			URL             string `json:"url"`
			Spoken          string `json:"spoken"`
			State           string `json:"state"`
			Reason          string `json:"reason"`
		} `json:"interfaces"`
		Warnings []string `json:"warnings"`
	} `json:"card"`
	Capabilities []struct {
		Name     string   `json:"name"`
		Declared string   `json:"declared"`
		State    string   `json:"state"`
		Outcome  string   `json:"outcome"`
		Reason   string   `json:"reason"`
		Message  string   `json:"message"`
		Observed []string `json:"observed"`
		Warnings []string `json:"warnings"`
		Rule     string   `json:"rule"`
		Tasks    int      `json:"tasks"`
		Refused  []string `json:"refusedInputModes"`
	} `json:"capabilities"`
	Decision struct {
		Path           string    `json:"path"`
		MultiTurn      string    `json:"multiTurn"`
		Cancel         string    `json:"cancel"`
		Updates        string    `json:"updates"`
		Reason         string    `json:"reason"`
		ExpirationTime time.Time `json:"expirationTime"`
	} `json:"decision"`
	OrphanedTasks []string `json:"orphanedTasks"`
}

// state of a capability as "Trusted", or "Demoted/StreamEmpty" and the like.
func (c checked) state(name string) string {
	for _, x := range c.Capabilities {
		switch {
		case x.Name != name:
		case x.State == "Trusted":
			return x.State
		default:
			return x.State + "/" + x.Reason
		}
	}
	return ""
}

// check runs the command and returns what it printed and its exit code.
func check(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the product: run make test")
	}
	cmd := exec.CommandContext(t.Context(), program(t, "agentpeer"), append([]string{"check"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &exit):
		return out.String(), errs.String(), exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return out.String(), errs.String(), 0
}

// checkJSON runs the command for a program: nothing but the documented JSON is printed.
func checkJSON(t *testing.T, args ...string) (checked, int) {
	t.Helper()
	stdout, stderr, code := check(t, "", append([]string{"-o", "json", "--probes", filepath.Join("testdata", "probes.yaml")}, args...)...)
	var c checked
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil || d.More() {
		t.Fatalf("reading the JSON of a check that ended with code %d: %v\n%s\n%s", code, err, stdout, stderr)
	}
	return c, code
}

func TestCheckJudgesServersOnReleasedSDKsRightly(t *testing.T) {
	t.Parallel()
	for _, p := range append(sdk.Peers(), sdk.OtherBindings()...) {
		if p.Binding == "GRPC" {
			continue // on another origin than the card's; internal/probe judges them
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("needs the SDK servers: run make test")
			}
			url, stop, err := sdk.Start(t.Context(), p.Name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			got, code := checkJSON(t, url)
			want := 0
			if strings.HasPrefix(p.Name, "a2a-js-0.2.5") {
				want = 2 // it accepts webhooks and calls none, which has an excuse as long as nobody says that it can reach us
			}
			if code != want {
				t.Errorf("the exit code is %d, want %d", code, want)
			}
			for _, c := range everything {
				if s := got.state(string(c)); s != "Trusted" {
					t.Errorf("%s is %s, want Trusted", c, s)
				}
			}
			if got.Card.Interface == nil || got.Card.Interface.Spoken != p.Generation || got.Card.Interface.Binding != p.Binding {
				t.Errorf("the interface is %+v, want one that speaks %s by %s", got.Card.Interface, p.Generation, p.Binding)
			}
			if got.Decision.Path != "Streaming" || got.Decision.MultiTurn != "Interactive" || got.Decision.Cancel != "Reliable" {
				t.Errorf("the decision is %+v, want the server used to the full", got.Decision)
			}
			if got.Reachable.Outcome != "Honored" || got.Peer != url || got.Rounds != 1 || got.Tasks == 0 || len(got.OrphanedTasks) > 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestCheckFindsLiarsOut(t *testing.T) {
	t.Parallel()
	for preset, want := range map[string]map[string]string{
		"founding-third":    {"Continuation": "Demoted/TaskIdChangedOnContinuation", "Streaming": "Trusted"},
		"zombie-cancel":     {"Cancellation": "Demoted/EventsAfterCancel", "Streaming": "Trusted"},
		"empty-stream":      {"Streaming": "Demoted/StreamEmpty", "Continuation": "Trusted"},
		"withheld-terminal": {"Streaming": "Demoted/StreamClosedWithoutTerminalState", "TaskRetrieval": "Trusted"},
		"wrong-generation":  {"Streaming": "Demoted/ProtocolGenerationMismatch"},
	} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			a := agent.New(agent.Preset(preset))
			rounds := "3"
			if preset == "founding-third" {
				rounds = "2" // enough, and each waits out the time that the card's promise allows
			}
			got, code := checkJSON(t, "--rounds", rounds, "--interval", "100ms", a.Start(t))
			if code != 1 {
				t.Errorf("the exit code is %d, want 1: something was contradicted", code)
			}
			for c, state := range want {
				if s := got.state(c); s != state {
					t.Errorf("%s is %s, want %s", c, s, state)
				}
			}
			if preset == "wrong-generation" && got.Card.Interface.Spoken != "0.3" {
				t.Errorf("it is said to speak %q, want 0.3", got.Card.Interface.Spoken)
			}
			for _, c := range got.Capabilities {
				if c.State == "Demoted" && (want[c.Name] == "" || c.Message == "" || len(c.Observed) == 0) {
					t.Errorf("%s is Demoted, message %q, observed %q", c.Name, c.Message, c.Observed)
				}
			}
		})
	}
}

func TestCheckAccusesNobodyWhoIsHonest(t *testing.T) {
	t.Parallel()
	for _, preset := range []string{"honest", "honest-but-odd", "slow-thinker", "founding-honest"} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			a := agent.New(agent.Preset(preset))
			got, code := checkJSON(t, a.Start(t))
			if code != 0 {
				t.Errorf("the exit code is %d, want 0: %+v", code, got)
			}
			if open := a.Counts().Open; open > 0 {
				t.Errorf("%d tasks are left under way", open)
			}
		})
	}
}

func TestCheckSaysWhereItCouldNotTell(t *testing.T) {
	t.Parallel()
	nobody := "http://" + ports.Closed(t)
	for name, c := range map[string]struct {
		url    func(t *testing.T) string
		reason string
	}{
		"nobody listens":   {func(*testing.T) string { return nobody }, "Unreachable"},
		"a web page":       {func(t *testing.T) string { return agent.New(agent.Is("html-card")).Start(t) }, "CardMalformed"},
		"it wants a token": {func(t *testing.T) string { return agent.New(agent.Is("needs-token")).Start(t) }, "AuthenticationRequired"},
		"half a card":      {func(t *testing.T) string { return agent.New(agent.Is("malformed-card")).Start(t) }, "CardMalformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, code := checkJSON(t, c.url(t))
			if code != 2 || got.Reachable.Reason != c.reason || got.Reachable.Message == "" {
				t.Errorf("the exit code is %d with %+v, want 2 and %s", code, got.Reachable, c.reason)
			}
			if table, _, code := check(t, "", c.url(t)); code != 2 || !strings.Contains(table, c.reason) {
				t.Errorf("the table does not say %s (code %d):\n%s", c.reason, code, table)
			}
		})
	}
}

func TestCheckSaysHowItIsToBeUsed(t *testing.T) {
	t.Parallel()
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const agent = "http://127.0.0.1:9"
	for name, c := range map[string]struct {
		args  []string
		stdin string
		says  string
	}{
		"no URL":                {nil, "", "want one: the URL of the agent"},
		"two URLs":              {[]string{agent, agent}, "", "want one: the URL of the agent"},
		"no scheme":             {[]string{"localhost:9001"}, "", "http://localhost:9001"},
		"another scheme":        {[]string{"ftp://localhost"}, "", "want http or https"},
		"a password in the URL": {[]string{"http://me:secret@localhost"}, "", "--bearer-token-file"},
		"no such probes file":   {[]string{agent, "--probes", "nowhere.yaml"}, "", "nowhere.yaml"},
		"an unknown field":      {[]string{agent, "--probes", file("a.yaml", "mesage: {}")}, "", `"mesage"`},
		"a bad duration":        {[]string{agent, "--probes", file("b.yaml", "behavior: {taskTimeout: soon}")}, "", `"soon"`},
		"a fixture of nothing":  {[]string{agent, "--probes", "-"}, "message: {parts: []}", "{text: ping}"},
		"no YAML":               {[]string{agent, "--probes", "-"}, "\t{", "spec.probes"},
		"no rounds":             {[]string{agent, "--rounds", "0"}, "", "want 1 to 100"},
		"many rounds":           {[]string{agent, "--rounds", "101"}, "", "want 1 to 100"},
		"rounds in words":       {[]string{agent, "--rounds", "three"}, "", "--rounds"},
		"an unknown format":     {[]string{agent, "-o", "yaml"}, "", "want table or json"},
		"no address range":      {[]string{agent, "--allow-cidrs", "localhost"}, "", "10.0.0.0/8"},
		"no origin":             {[]string{agent, "--allow-origins", "api.example.com"}, "", "https://api.example.com"},
		"no path":               {[]string{agent, "--card-path", "card.json"}, "", "starts with one /"},
		"an unknown URL source": {[]string{agent, "--url-from", "card"}, "", "want Card or Endpoint"},
		"no such token file":    {[]string{agent, "--bearer-token-file", "nowhere"}, "", "nowhere"},
		"an empty token":        {[]string{agent, "--bearer-token-file", "-"}, " ", "empty"},
		"no certificates":       {[]string{agent, "--ca-file", "-"}, "nothing", "certificate"},
		"a negative interval":   {[]string{agent, "--interval", "-1s"}, "", "0s or more"},
		"an unknown flag":       {[]string{agent, "--round"}, "", "--round"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := check(t, c.stdin, c.args...)
			if code != 3 || stdout != "" {
				t.Errorf("the exit code is %d, want 3 and nothing on standard output:\n%s", code, stdout)
			}
			if !strings.Contains(stderr, c.says) || slices.Contains(strings.Split(stderr, " "), "secret") {
				t.Errorf("it says %q, want %q in it", stderr, c.says)
			}
		})
	}
}

func TestCheckPrintsATableForPeople(t *testing.T) {
	t.Parallel()
	a := agent.New()
	url := a.Start(t)
	stdout, stderr, code := check(t, "", "-v", "--message", "hello", url)
	if code != 0 {
		t.Errorf("the exit code is %d, want 0\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{"CAPABILITY", "DECLARED", "STATE", "REASON", "Streaming", "Trusted", "NoFixture", "DECISION"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table lacks %s:\n%s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "SendStreamingMessage") {
		t.Errorf("-v does not show the exchange:\n%s", stderr)
	}
	var texts []string
	for _, task := range a.Tasks() {
		texts = append(texts, task.Text)
	}
	slices.Sort(texts)
	if diff := cmp.Diff([]string{"hello"}, slices.Compact(texts)); diff != "" {
		t.Errorf("--message is not what was sent (-want +got):\n%s", diff)
	}
}
