package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/test/agent"
)

// peers decides alike for everybody and remembers what it is told.
type peers struct {
	decision client.Decision

	mu      sync.Mutex
	demoted []string
	honored []string
}

func (p *peers) Decide(client.Ref) client.Decision { return p.decision }

func (p *peers) Demote(_ client.Ref, c v1alpha1.CapabilityName, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := client.Classify(err)
	p.demoted = append(p.demoted, fmt.Sprintf("%s %s %s", c, v.Reason, v.Basis))
}

func (p *peers) Honored(_ client.Ref, c v1alpha1.CapabilityName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.honored = append(p.honored, string(c))
}

func (p *peers) said() (demoted, honored string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.honored)
	return strings.Join(p.demoted, ", "), strings.Join(p.honored, " ")
}

// quick is a decision for tests: times are short.
func quick(path v1alpha1.DecisionPath) client.Decision {
	d := client.Decision{
		Path: path, MultiTurn: v1alpha1.MultiTurnAllInputsUpfront, Cancel: v1alpha1.CancelBestEffort, Updates: v1alpha1.UpdatesPoll,
		Reason: v1alpha1.ReasonStreamingUnverified, Wait: 400 * time.Millisecond, Hard: 3 * time.Second,
	}
	if path == v1alpha1.PathStreaming {
		d.MultiTurn, d.Cancel, d.Reason = v1alpha1.MultiTurnInteractive, v1alpha1.CancelReliable, v1alpha1.ReasonStreamingTrusted
	}
	return d
}

// dial is a real A2A client.
func dial(t testing.TB, url string, g agent.Generation, transport http.RoundTripper) *a2aclient.Client {
	t.Helper()
	web := &http.Client{Transport: transport}
	c, err := a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{
		{URL: url + "/a2a", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2a.ProtocolVersion(g)},
	}, a2aclient.WithJSONRPCTransport(web), a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: web}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func say(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

func reply(text string) func(context.Context, a2a.TaskStatus) (*a2a.Message, error) {
	return func(context.Context, a2a.TaskStatus) (*a2a.Message, error) { return say(text).Message, nil }
}

var errCanceled = errors.New("the caller has gone")

// Every lie and every oddity of the scripted agent, over a real socket and the real A2A client.
func TestWhateverAnAgentDoesItsTaskIsAccountedFor(t *testing.T) {
	t.Parallel()
	const (
		streaming  = v1alpha1.PathStreaming
		singleShot = v1alpha1.PathSingleShot
	)
	for name, tc := range map[string]struct {
		gen    agent.Generation
		quirks []string
		path   v1alpha1.DecisionPath
		text   string
		o      client.TaskOptions
		// entry and err are how it ends; extra the GetTasks beside a stream at most.
		entry            lifecycle.Entry
		err              error
		diverges         bool
		demoted, honored string
		// chance is the capability that is seen to work or not, as the machine is fast or slow: a stream that is picked up may bring an
		// event before the bad one, and a short task may be over before its cancel comes.
		chance      string
		extra       int64
		orphan      bool
		cancelAfter time.Duration
		work        time.Duration
	}{
		"an honest stream":                      {path: streaming, entry: "completed", honored: "Streaming"},
		"an honest stream of 0.3":               {gen: agent.V03, path: streaming, entry: "completed", honored: "Streaming"},
		"an honest single shot":                 {path: singleShot, entry: "completed", honored: "TaskRetrieval"},
		"an honest single shot of 0.3":          {gen: agent.V03, path: singleShot, entry: "completed", honored: "TaskRetrieval"},
		"a Message in answer to a stream":       {quirks: []string{"messages"}, path: streaming, entry: "completed", honored: "Streaming"},
		"a Message in answer to a message":      {quirks: []string{"messages"}, path: singleShot, entry: "completed"},
		"a task that fails by stream":           {quirks: []string{"fails"}, path: streaming, entry: "failed", honored: "Streaming"},
		"a task that is rejected":               {quirks: []string{"rejects"}, path: singleShot, entry: "rejected", honored: "TaskRetrieval"},
		"a task that is over at once":           {quirks: []string{"skips"}, path: streaming, entry: "completed", honored: "Streaming"},
		"a stream held open after the end":      {quirks: []string{"hold-terminal"}, path: streaming, entry: "completed", honored: "Streaming"},
		"a stream with keep-alives":             {quirks: []string{"keep-alive"}, path: streaming, entry: "completed", honored: "Streaming"},
		"a stream that is buffered":             {quirks: []string{"buffered"}, path: streaming, entry: "completed", honored: "Streaming"},
		"a stream that begins late":             {quirks: []string{"slow-first-event"}, path: streaming, entry: "completed", honored: "Streaming"},
		"an end said twice":                     {quirks: []string{"repeats-end"}, path: streaming, entry: "completed", honored: "Streaming"},
		"an end with a snapshot after it":       {quirks: []string{"last-snapshot"}, path: streaming, entry: "completed", honored: "Streaming"},
		"an end that is left on the stream":     {quirks: []string{"leaves-terminal"}, path: streaming, entry: "completed", demoted: "Lifecycle TerminalStateNotFinal Protocol", honored: "Streaming"},
		"a second end on the stream":            {quirks: []string{"second-end"}, path: streaming, entry: "completed", demoted: "Lifecycle TerminalStateNotFinal Protocol", honored: "Streaming"},
		"a thinker that says nothing":           {quirks: []string{"cut-idle"}, path: streaming, entry: "completed", extra: 8, honored: "Resubscription TaskRetrieval"},
		"C01: a stream without the end":         {quirks: []string{"withheld-end"}, path: streaming, entry: "completed", extra: 1, demoted: "Streaming StreamClosedWithoutTerminalState Protocol", honored: "TaskRetrieval"},
		"a stream open and silent at the end":   {quirks: []string{"withheld-end-open"}, path: streaming, entry: "completed", extra: 1, demoted: "Streaming StreamStateDivergesFromTask Protocol", honored: "TaskRetrieval"},
		"C25: a stream refused as plain JSON":   {quirks: []string{"refuses-stream"}, path: streaming, entry: "divergence", err: client.ErrUncertain, diverges: true, demoted: "Streaming StreamEmpty Behaviour"},
		"the same for work that may be doubled": {quirks: []string{"refuses-stream"}, path: streaming, o: client.TaskOptions{Idempotent: true}, entry: "completed", demoted: "Streaming StreamEmpty Card", honored: "TaskRetrieval"},
		"C26: a stream refused as SSE":          {quirks: []string{"refuses-stream-sse"}, path: streaming, entry: "completed", demoted: "Streaming StreamingRefused Card", honored: "TaskRetrieval"},
		"C03: an empty stream":                  {quirks: []string{"empty-stream"}, path: streaming, entry: "divergence", err: client.ErrUncertain, diverges: true, demoted: "Streaming StreamEmpty Behaviour"},
		"the same, idempotent":                  {quirks: []string{"empty-stream"}, path: streaming, o: client.TaskOptions{Idempotent: true}, entry: "completed", demoted: "Streaming StreamEmpty Card", honored: "TaskRetrieval"},
		"C03 A: empty streams, failing sends":   {quirks: []string{"empty-and-failing"}, path: streaming, o: client.TaskOptions{Idempotent: true}, entry: "failed", err: a2a.ErrInternalError},
		"a stream that fails":                   {quirks: []string{"stream-fails-sse"}, path: streaming, entry: "failed", err: a2a.ErrInternalError},
		"every method unknown":                  {quirks: []string{"mcp"}, path: singleShot, entry: "failed", err: a2a.ErrMethodNotFound},
		"a reset after two events":              {quirks: []string{"reset"}, path: streaming, entry: "completed", extra: 3, work: 300 * time.Millisecond, honored: "Resubscription TaskRetrieval"},
		"an event that is not JSON":             {quirks: []string{"malformed-event"}, path: streaming, entry: "completed", extra: 3, work: 300 * time.Millisecond, honored: "TaskRetrieval", chance: "Resubscription"},
		"events of another task":                {quirks: []string{"foreign-task"}, path: streaming, entry: "completed", extra: 5, demoted: "Streaming ForeignTaskInStream Protocol", honored: "TaskRetrieval"},
		"a task that never ends":                {quirks: []string{"stuck"}, path: singleShot, entry: "divergence", diverges: true, honored: "Cancellation TaskRetrieval"},
		"a stream that never ends":              {quirks: []string{"stuck"}, path: streaming, entry: "divergence", diverges: true, extra: 20, honored: "Cancellation TaskRetrieval"},
		"chunks for ever":                       {quirks: []string{"endless-stream"}, path: streaming, text: "count", o: client.TaskOptions{MaxBytes: 1 << 20}, entry: "canceled", err: client.ErrTooLarge, orphan: true, demoted: "Cancellation EventsAfterCancel Protocol"},
		"GetTask knows nothing":                 {quirks: []string{"get-not-found"}, path: singleShot, text: "count", entry: "canceled", err: client.ErrTaskGone},
		"GetTask knows nothing and lags":        {quirks: []string{"replicas"}, path: singleShot, entry: "completed", honored: "TaskRetrieval"},
		"GetTask with another id":               {quirks: []string{"get-other-id"}, path: singleShot, entry: "completed", honored: "TaskRetrieval"},
		"a send that is never answered":         {quirks: []string{"send-hangs"}, path: singleShot, entry: "open", err: client.ErrUncertain, orphan: true},
		"everything is 401":                     {quirks: []string{"posts-401"}, path: singleShot, entry: "failed", err: errAny},
		"everything is 429":                     {quirks: []string{"posts-429"}, path: streaming, entry: "failed", err: errAny},
		"everything is 503":                     {quirks: []string{"posts-503"}, path: singleShot, entry: "open", err: client.ErrUncertain, orphan: true},
		"everything is a web page":              {quirks: []string{"posts-html"}, path: singleShot, entry: "open", err: client.ErrUncertain, orphan: true},
		"every connection is dropped":           {quirks: []string{"drops"}, path: streaming, entry: "open", err: client.ErrUncertain, orphan: true},

		"a question answered":                  {path: streaming, text: "book", o: client.TaskOptions{OnInput: reply("to Oslo")}, entry: "completed", extra: 1, honored: "Continuation Streaming TaskRetrieval"},
		"a question answered single-shot":      {path: singleShot, text: "book", o: client.TaskOptions{OnInput: reply("to Oslo")}, entry: "completed", honored: "Continuation TaskRetrieval"},
		"a question on a stream held open":     {quirks: []string{"hold-interrupted"}, path: streaming, text: "book", o: client.TaskOptions{OnInput: reply("to Oslo")}, entry: "completed", extra: 1, honored: "Continuation Streaming TaskRetrieval"},
		"a question that nobody answers":       {path: streaming, text: "book", entry: "canceled", err: client.ErrNoAnswer, honored: "Cancellation Streaming"},
		"all inputs up front":                  {path: singleShot, text: "book", o: client.TaskOptions{AllInputs: say("book a trip to Oslo").Message}, entry: "completed", honored: "TaskRetrieval"},
		"questions without end":                {quirks: []string{"always-asks"}, path: streaming, o: client.TaskOptions{OnInput: reply("to Oslo"), MaxTurns: 2}, entry: "canceled", err: client.ErrTooManyTurns, extra: 2, honored: "Cancellation Continuation Streaming TaskRetrieval"},
		"C68: a reply gets a new task":         {quirks: []string{"follow-up-new-id"}, path: streaming, text: "book", o: client.TaskOptions{OnInput: reply("to Oslo")}, entry: "divergence", diverges: true, extra: 2, demoted: "Continuation TaskIdChangedOnContinuation Protocol", honored: "Cancellation Streaming TaskRetrieval"},
		"C68 single-shot":                      {quirks: []string{"follow-up-new-id"}, path: singleShot, text: "book", o: client.TaskOptions{OnInput: reply("to Oslo")}, entry: "divergence", diverges: true, demoted: "Continuation TaskIdChangedOnContinuation Protocol", honored: "Cancellation TaskRetrieval"},
		"a gateway that rewrites ids":          {quirks: []string{"follow-up-rewritten"}, path: singleShot, text: "book", o: client.TaskOptions{OnInput: reply("to Oslo")}, entry: "divergence", diverges: true, honored: "Cancellation TaskRetrieval", chance: "Cancellation"},
		"a reply answered with a Message":      {quirks: []string{"follow-up-message"}, path: singleShot, text: "book", o: client.TaskOptions{OnInput: reply("to Oslo")}, entry: "completed", honored: "TaskRetrieval"},
		"a reply that is refused":              {quirks: []string{"follow-up-refused"}, path: singleShot, text: "book", o: client.TaskOptions{OnInput: reply("to Oslo")}, entry: "canceled", err: a2a.ErrInvalidParams, honored: "Cancellation TaskRetrieval"},
		"leave that is given elsewhere, never": {quirks: []string{"wants-auth"}, path: singleShot, o: client.TaskOptions{InputTimeout: 500 * time.Millisecond}, entry: "canceled", err: client.ErrNoAnswer, honored: "Cancellation TaskRetrieval"},

		"the caller goes":                          {path: streaming, text: "count", cancelAfter: 200 * time.Millisecond, entry: "canceled", err: errCanceled, honored: "Cancellation"},
		"the caller of a single shot goes":         {path: singleShot, text: "count", cancelAfter: 200 * time.Millisecond, entry: "canceled", err: errCanceled, honored: "Cancellation"},
		"a zombie":                                 {quirks: []string{"zombie-cancel"}, path: streaming, text: "count", cancelAfter: 200 * time.Millisecond, entry: "canceled", err: errCanceled, orphan: true, demoted: "Cancellation EventsAfterCancel Protocol"},
		"a cancel that does nothing":               {quirks: []string{"cancel-never"}, path: streaming, text: "count", cancelAfter: 200 * time.Millisecond, entry: "open", err: errCanceled, orphan: true},
		"a cancel that takes its time":             {quirks: []string{"cancel-later"}, path: streaming, text: "count", cancelAfter: 200 * time.Millisecond, entry: "canceled", err: errCanceled, honored: "Cancellation"},
		"a cancel that is refused":                 {quirks: []string{"cancel-not-now"}, path: streaming, text: "count", cancelAfter: 200 * time.Millisecond, entry: "open", err: errCanceled, orphan: true},
		"a cancel that is unknown":                 {quirks: []string{"cancel-unknown"}, path: streaming, text: "count", cancelAfter: 200 * time.Millisecond, entry: "open", err: errCanceled, orphan: true, demoted: "Cancellation CancelMethodMissing Protocol"},
		"a canceled frame that comes late":         {quirks: []string{"late-canceled-frame"}, path: streaming, text: "count", cancelAfter: 200 * time.Millisecond, entry: "canceled", err: errCanceled, honored: "Cancellation"},
		"the caller goes, and somebody takes over": {path: streaming, text: "count", cancelAfter: 200 * time.Millisecond, o: client.TaskOptions{Handover: func(client.Entry) string { return "night shift" }}, entry: "open", err: errCanceled},

		"promised transitions that do not come": {gen: agent.V03, quirks: []string{"never-asks", "history"}, path: streaming, text: "book", o: client.TaskOptions{Promise: true}, entry: "divergence", diverges: true, extra: 1, honored: "Cancellation TaskRetrieval"},
		"the same, with all inputs at hand":     {gen: agent.V03, quirks: []string{"never-asks", "history"}, path: streaming, text: "book", o: client.TaskOptions{Promise: true, AllInputs: say("book a trip to Oslo").Message}, entry: "completed", extra: 1, honored: "Cancellation TaskRetrieval"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.gen == "" {
				tc.gen = agent.V10
			}
			if tc.text == "" {
				tc.text = "ping"
			}
			a := agent.New(agent.Speaks(tc.gen), agent.Is(tc.quirks...), agent.Latency(0, tc.work))
			c := dial(t, a.Start(t), tc.gen, nil)
			p := &peers{decision: quick(tc.path)}
			tasks := client.Tasks{Peers: p, Ledger: newLedger(t)}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tc.cancelAfter > 0 {
				timer := time.AfterFunc(tc.cancelAfter, func() { cancel(errCanceled) })
				defer timer.Stop()
			}

			var result *client.Result
			task, err := tasks.OpenStreamingTask(ctx, c, client.Named("test", "peer"), say(tc.text), tc.o)
			if err == nil {
				result, err = tasks.AwaitTerminalState(ctx, task)
			}
			if err := tasks.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			var d *client.AgentCardDivergenceError
			switch {
			case errors.Is(tc.err, errAny) && err == nil, tc.err != nil && !errors.Is(tc.err, errAny) && !errors.Is(err, tc.err),
				tc.err == nil && !tc.diverges && err != nil, tc.diverges != errors.As(err, &d):
				t.Errorf("error %v, want %v, diverging %v", err, tc.err, tc.diverges)
			}
			entries := tasks.Ledger.Entries()
			last := entries[len(entries)-1]
			if result != nil {
				last = result.Entry
				last, _ = tasks.Ledger.Entry(last.ID)
			}
			if last.State != tc.entry || last.Orphaned != tc.orphan {
				t.Errorf("entry is %s, orphaned %v, want %s, %v", last.State, last.Orphaned, tc.entry, tc.orphan)
			}
			demoted, honored := p.said()
			if tc.chance != "" {
				honored, tc.honored = without(honored, tc.chance), without(tc.honored, tc.chance)
			}
			if demoted != tc.demoted || honored != tc.honored {
				t.Errorf("demoted %q, honored %q, want %q, %q", demoted, honored, tc.demoted, tc.honored)
			}
			s := tasks.Stats()
			if s.ExtraGetTasks > tc.extra {
				t.Errorf("%d extra GetTasks, want %d at most", s.ExtraGetTasks, tc.extra)
			}
			for _, e := range entries {
				if e, _ := tasks.Ledger.Entry(e.ID); !e.State.Terminal() && !e.Orphaned && e.HandedTo == "" {
					t.Errorf("entry %s is %s and nobody's", e.ID, e.State)
				}
			}
			// A Message closes an entry; the agent may still be about to end its task.
			deadline := time.Now().Add(time.Second)
			for a.Counts().Open > 0 && result != nil && result.Message != nil && time.Now().Before(deadline) {
				runtime.Gosched()
			}
			if open := a.Counts().Open; open > len(tasks.Ledger.Orphaned())+len(tasks.Ledger.Open()) {
				t.Errorf("%d tasks still run and are not in the ledger", open)
			}
			t.Logf("%v %+v %v", last.History(), s, err)
		})
	}
}

var errAny = errors.New("any error")

func newLedger(t testing.TB) *client.Ledger {
	t.Helper()
	l, err := client.NewLedger(t.Context(), client.NewMemoryStore())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// without takes a word out of a list of words.
func without(list, word string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(list), func(w string) bool { return w == word }), " ")
}
