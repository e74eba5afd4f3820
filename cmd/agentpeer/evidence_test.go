package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

func account(r result, question string) evidence {
	for _, e := range r.Evidence {
		if e.Question == question {
			return e
		}
	}
	return evidence{}
}

func TestTheAccountOfEveryQuestionIsShownWhole(t *testing.T) {
	t.Parallel()
	_, out, errs := checks(t, agent.New(agent.Is("empty-stream")).Start(t), "-v", "-o", "json")
	r := decoded(t, out)
	e := account(r, string(trust.Streaming))
	if e.Outcome != "Diverged" || e.Reason != "StreamEmpty" || e.Basis != "Card" || e.Rule != "C03" || len(e.RuleSays) != 1 ||
		e.Meaning == "" || e.Advice == "" || e.Expected == "" || e.Message == "" || len(e.Observed) == 0 || len(e.ProbedWith) == 0 {
		t.Errorf("the account of Streaming lacks something: %+v", e)
	}
	if len(e.Exchanges) < 3 {
		t.Errorf("Streaming had exchanges %v, want two streams and a control at least", e.Exchanges)
	}
	streams := 0
	for _, x := range r.Exchanges {
		if x.Question == "" || x.Took == "" || x.At == "" {
			t.Errorf("exchange %d does not say what it was for, when, or how long: %+v", x.Number, x)
		}
		if slices.Contains(e.Exchanges, x.Number) && strings.Contains(x.Body, "SendStreamingMessage") {
			if streams++; x.End == "" || x.Status != 200 {
				t.Errorf("the stream of exchange %d ended %q with status %d", x.Number, x.End, x.Status)
			}
		}
	}
	if streams != 2 {
		t.Errorf("%d streams among the exchanges of Streaming, want 2", streams)
	}
	for _, c := range r.Capabilities {
		if account(r, c.Name).Question == "" && c.Name != string(trust.StateTransitionHistory) {
			t.Errorf("no account of %s", c.Name)
		}
	}
	for _, want := range []string{"== round 1, Streaming: Diverged StreamEmpty (against the card) ==", "expected   a stream of text/event-stream",
		"rule       C03: ", "#1 for Card", "for Reachability"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the terminal is not told %q", want)
		}
	}
}

func TestFramesAreShownWithTheirTimes(t *testing.T) {
	t.Parallel()
	_, out, _ := checks(t, agent.New().Start(t), "-v", "-o", "json")
	for _, x := range decoded(t, out).Exchanges {
		if strings.Contains(x.Body, "SendStreamingMessage") {
			if len(x.Frames) < 3 || x.Frames[0].At == "" || !strings.Contains(x.Frames[len(x.Frames)-1].Data, "COMPLETED") {
				t.Errorf("frames %+v, want the stream's, each with its time", x.Frames)
			}
			return
		}
	}
	t.Error("no stream among the exchanges")
}

func TestWithoutVerboseThereIsNoEvidence(t *testing.T) {
	t.Parallel()
	_, out, _ := checks(t, agent.New().Start(t), "-o", "json")
	if strings.Contains(out, `"evidence"`) || strings.Contains(out, `"exchanges"`) {
		t.Errorf("it holds evidence that nobody asked for: %s", out)
	}
}

func TestNothingOfThePeersSteersATerminal(t *testing.T) {
	const evil = "\x1b[2J\u202eabc\x07"
	w := witness{start: time.Now(), round: 1}
	var shown strings.Builder
	x := wire.Exchange{Question: "Streaming", Started: time.Now(), Method: "POST", URL: "http://peer.test/" + evil, Status: 200,
		Response: map[string][]string{"X-Evil": {evil}}, Answer: []byte(evil + strings.Repeat("x", 10_000)),
		Frames: []wire.Frame{{Data: []byte("data\n" + evil)}}, Err: fmt.Errorf("reading %q", evil)}
	newTracer(&shown, &w).print(x)
	text, err := json.Marshal(w.exchanges)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{"terminal": shown.String(), "JSON": string(text)} {
		if strings.ContainsAny(s, "\x1b\x07\u202e") || !strings.Contains(s, "abc") {
			t.Errorf("on the %s: %q", name, s[:min(len(s), 500)])
		}
	}
	if !strings.Contains(shown.String(), "more bytes)") {
		t.Error("a long line is shown whole")
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	w := witness{start: time.Now(), round: 1}
	for range 40 {
		w.see(wire.Exchange{Answer: make([]byte, 1<<20)})
	}
	if last := w.exchanges[39]; !last.Cut || last.Answer != "" || w.kept > maxEvidence {
		t.Errorf("the last of 40 large exchanges keeps %d bytes of %d", len(last.Answer), w.kept)
	}
}

// What peers say is for who runs the command. The operator has no way to come by it: it traces nothing.
func TestTheOperatorTracesNothing(t *testing.T) {
	traces := regexp.MustCompile(`\bTrace\s*(:|=)[^=]`)
	for _, pattern := range []string{"../*.go", "../../controllers/*.go", "../../internal/serve/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if traces.Match(text) {
				t.Errorf("%s sets a trace", file)
			}
		}
	}
}

func TestEachDeclaredInterfaceIsShown(t *testing.T) {
	t.Parallel()
	a := agent.New()
	base := a.Start(t)
	a.Set(agent.With(func(c *agent.Config) {
		c.Card.Interfaces = json.RawMessage(fmt.Sprintf(`[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"},
			{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`, base+"/a2a", base+"/nothing"))
	}))
	probes := filepath.Join(t.TempDir(), "probes.yaml")
	code, out, _ := checks(t, base)
	if code != exitHonored || !strings.Contains(out, base+"/nothing: Unreachable (EndpointNotFound)") ||
		!strings.Contains(out, base+"/a2a: Used") || !strings.Contains(out, "InterfaceUnreachable") {
		t.Errorf("exit code %d, want 0 and both interfaces:\n%s", code, out)
	}
	if err := os.WriteFile(probes, []byte("taskIdentity: {source: Header}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := checks(t, base, "--probes", probes); code != exitUsage || !strings.Contains(errs, "taskIdentity.key") {
		t.Errorf("exit code %d, want 3 and what is wrong with taskIdentity: %s", code, errs)
	}
}

func TestTasksBehindAGatewayAreToldApartByTheFilesKey(t *testing.T) {
	t.Parallel()
	a := agent.New(agent.Is("ids-per-event", "correlates"))
	base, probes := a.Start(t), filepath.Join(t.TempDir(), "probes.yaml")
	code, out, _ := checks(t, base)
	if code != exitUnclear || !strings.Contains(out, "set taskIdentity in the file of --probes") {
		t.Errorf("exit code %d, want 2 and the hint:\n%s", code, out)
	}
	if err := os.WriteFile(probes, []byte("taskIdentity: {source: Metadata, key: correlationId}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := checks(t, base, "--probes", probes); code != exitHonored {
		t.Errorf("exit code %d, want 0:\n%s", code, out)
	}
}
