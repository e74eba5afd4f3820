package probe

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// What each guard is there for, end to end: an excuse that it lets a peer have, or a lie that it does not. hack/mutants takes the guards
// away one by one and looks whether these, or the cases, notice.
func TestCaseGuards(t *testing.T) {
	t.Parallel()
	slowly := func(c *agent.Config) { c.Stream.Work = agent.Duration(300 * time.Millisecond) }
	for _, tc := range []struct {
		name   string
		gen    agent.Generation
		quirks string
		set    func(*agent.Config)
		rounds int // default 3
		about  trust.Capability
		change func(*Job)
		state  trust.State
		reason trust.Reason
		last   trust.Reason
	}{
		{name: "second stream: every other stream is empty", set: func(c *agent.Config) { c.Stream.Empty, c.Stream.Every = true, 2; c.Stream.After = 1 },
			about: trust.Streaming, state: trust.Trusted},
		{name: "same-round repeat: a refusal that does not come again", set: func(c *agent.Config) { c.Stream.Refuse, c.Stream.Until = codeUnsupported, 1 },
			rounds: 1, state: trust.Unverified, reason: trust.ReasonStreamIntermittent},
		{name: "end of body: a reset in the moment in which the task ended", quirks: "reset burst", state: trust.Unverified, reason: trust.ReasonStreamInterrupted},
		{name: "end of body: a stream delimited by the connection in that moment", quirks: "cut-delimited burst", state: trust.Unverified, reason: trust.ReasonStreamInterrupted},
		{name: "direction: a cut before the end, and no times", quirks: "cut-before-end no-timestamps", set: wellBeforeEnd, change: patient, state: trust.Unverified, reason: trust.ReasonStreamInterrupted},
		{name: "first event: a stream that is open and silent", quirks: "slow-first-event", change: func(j *Job) { j.Target.Timing.FirstEvent = 300 * time.Millisecond },
			state: trust.Unverified, reason: trust.ReasonNoFirstEvent},
		{name: "identity: a gateway gives every task another id in every event", quirks: "ids-per-event", set: slowly, state: trust.Unverified, reason: trust.ReasonTaskIdentityUnstable},
		{name: "identity: events of a task that nobody knows", quirks: "foreign-task", state: trust.Demoted, reason: trust.ReasonForeignTaskInStream},
		{name: "identity: a reply that got another id while the old task moves on", quirks: "follow-up-rewritten", about: trust.Continuation,
			state: trust.Unverified, reason: trust.ReasonTaskIdentityUnstable},
		{name: "continuation: a new task where none was promised to continue", quirks: "follow-up-unpromised", about: trust.Continuation, state: trust.Unverified},
		{name: "message only: there is no task to ask for", quirks: "messages", about: trust.TaskRetrieval, state: trust.Unverified, reason: trust.ReasonMessageOnly},
		{name: "purged: a task that has ended may be forgotten", quirks: "purges", about: trust.TaskRetrieval, state: trust.Trusted},
		{name: "cancel: -32002 is legal", quirks: "cancel-not-now", about: trust.Cancellation, state: trust.Unverified, reason: trust.ReasonTaskNotCancelable},
		{name: "cancel: the zombie", quirks: "zombie-cancel", about: trust.Cancellation, state: trust.Demoted, reason: trust.ReasonEventsAfterCancel},
		{name: "lifecycle: a terminal state that the stream leaves", quirks: "leaves-terminal", about: trust.Lifecycle, state: trust.Demoted, reason: trust.ReasonTerminalStateNotFinal},
		{name: "lifecycle: a store that lags", quirks: "lagging-store", about: trust.Lifecycle, change: func(j *Job) { j.Target.Timing.Settle = 600 * time.Millisecond }, state: trust.Trusted},
		{name: "legacy: a 0.x card without capabilities owes no core behaviour", gen: agent.V02, quirks: "no-capabilities follow-up-new-id", about: trust.Continuation,
			state: trust.Unverified, reason: trust.ReasonTaskIDChangedOnContinuation},
		{name: "resubscription: one replica of two refuses", gen: agent.V10, quirks: "resubscribe-replicas", rounds: 2, about: trust.Resubscription,
			state: trust.Trusted, last: trust.ReasonReplicaInconsistency},
		{name: "resubscription: 0.3 does not tie it to a declaration", gen: agent.V03, quirks: "resubscribe-refused", about: trust.Resubscription,
			state: trust.Unverified, reason: trust.ReasonResubscriptionMissing},
		{name: "resubscription: refused twice in 1.0", gen: agent.V10, quirks: "resubscribe-refused", rounds: 1, about: trust.Resubscription,
			state: trust.Demoted, reason: trust.ReasonResubscriptionRefused},
		{name: "modes: a declared one is refused by every other message", gen: agent.V10, quirks: "mode-replicas", about: trust.InputModes, state: trust.Trusted},
		{name: "modes: a declared one is refused", gen: agent.V10, quirks: "mode-refused", rounds: 1, about: trust.InputModes, state: trust.Demoted, reason: trust.ReasonDeclaredModeRefused},
		{name: "extended card: refused to one without credentials", gen: agent.V10, quirks: "extended-refused", about: trust.ExtendedAgentCard, state: trust.Unverified},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := with(tc.gen, strings.Fields(tc.quirks)...)
			if tc.set != nil {
				a.Set(agent.With(tc.set))
			}
			about := tc.about
			if about == "" {
				about = trust.Streaming
			}
			job := jobFor(t, a.Start(t), about)
			if tc.change != nil {
				tc.change(&job)
			}
			rounds := tc.rounds
			if rounds == 0 {
				rounds = 3
			}
			p, _ := verdict(t, job, rounds)
			if rec := expectState(t, p, about, tc.state, tc.reason); tc.last != "" && rec.LastReason != tc.last {
				t.Errorf("the last round said %s, want %s", rec.LastReason, tc.last)
			}
		})
	}
}

// One of several replicas is of another release and knows no method of the card's generation. That is a deploy, and no mismatch.
func TestCaseGuardARefusedDialectIsAskedForAgainOnANewConnection(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	stale := ""
	old := func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodPost {
			return false
		}
		if stale == "" {
			stale = r.RemoteAddr
		}
		if r.RemoteAddr == stale {
			rpcError(w, body, 200, codeMethodNotFound)
		}
		return r.RemoteAddr == stale
	}
	p, _ := verdict(t, jobFor(t, gated(t, with(agent.V10), old), trust.Streaming), 1)
	expectState(t, p, trust.Streaming, trust.Unverified, trust.ReasonReplicaInconsistency)
}

// A door that is shut may say so in the protocol's own words: it is about us all the same, and no refusal of a stream.
func TestCaseC94ADoorThatIsShutRefusesNoCapability(t *testing.T) {
	t.Parallel()
	for status, reason := range map[int]trust.Reason{401: trust.ReasonAuthenticationRequired, 403: trust.ReasonPermissionDenied, 429: trust.ReasonRateLimited} {
		shut := func(w http.ResponseWriter, r *http.Request, body []byte) bool {
			streams := r.Header.Get("Accept") == "text/event-stream"
			if streams {
				rpcError(w, body, status, codeUnsupported)
			}
			return streams
		}
		p, _ := verdict(t, jobFor(t, gated(t, with(agent.V10), shut), trust.Streaming), 3)
		expectState(t, p, trust.Streaming, trust.Unverified, reason)
	}
}
