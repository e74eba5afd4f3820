package probe

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A peer that says "not modified" to whoever asks for the card whole would keep the verdicts on the card that it once had, and a signature
// that was good once.
func TestANotModifiedThatNobodyAskedForIsNoCard(t *testing.T) {
	t.Parallel()
	var frozen atomic.Bool
	var conditions atomic.Int64
	a := with(agent.V10)
	base := gated(t, a, func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if r.Method != http.MethodGet || !frozen.Load() {
			return false
		}
		if r.Header.Get("If-None-Match") != "" {
			conditions.Add(1)
		}
		w.WriteHeader(http.StatusNotModified)
		return true
	})
	job := jobFor(t, base, trust.Streaming, trust.InputModes)
	whole := job
	whole.Kind = trust.Reachability
	first := Run(context.Background(), Env{Egress: agent.Loopback()}, whole)
	if first.Interface == nil || first.ETag == "" {
		t.Fatalf("the card was not read: %s %s", first.Round.Reach.Reason, first.Round.Reach.Message)
	}
	job.Known, job.ETag = &Known{Interface: *first.Interface, Generation: first.WireGeneration, Claims: first.Round.Claims}, first.ETag
	frozen.Store(true)
	verified := Verification{Wanted: true, JWKS: &url.URL{Scheme: "http", Host: strings.TrimPrefix(base, "http://"), Path: "/keys"}}
	for name, tc := range map[string]struct {
		kind   trust.RoundKind
		verify Verification
		known  *Known
		etag   string
	}{
		"a behaviour round":                      {kind: trust.Behavior, known: job.Known, etag: job.ETag},
		"a behaviour round, verified":            {kind: trust.Behavior, known: job.Known, etag: job.ETag, verify: verified},
		"a reachability round, verified":         {kind: trust.Reachability, known: job.Known, etag: job.ETag, verify: verified},
		"a reachability round, nothing is known": {kind: trust.Reachability},
		"a reachability round, without a tag":    {kind: trust.Reachability, known: job.Known},
	} {
		j := job
		j.Kind, j.Target.Verification, j.Known, j.ETag = tc.kind, tc.verify, tc.known, tc.etag
		rep := Run(context.Background(), Env{Egress: agent.Loopback()}, j)
		if o := rep.Round.Reach; o.Outcome != trust.Inconclusive || o.Reason != trust.ReasonCardUnavailable {
			t.Errorf("%s: %s %q: %s, want Inconclusive CardUnavailable", name, o.Outcome, o.Reason, o.Message)
		}
		if rep.Card != nil || rep.ETag != "" || rep.Round.Signature.Result != "" || len(rep.Round.Observations) != 0 {
			t.Errorf("%s: something was learned: %+v", name, rep.Round)
		}
	}
	if n := conditions.Load(); n != 0 {
		t.Errorf("%d of these rounds asked by If-None-Match", n)
	}
	job.Kind = trust.Reachability
	rep := Run(context.Background(), Env{Egress: agent.Loopback()}, job)
	if rep.Round.Reach.Outcome != trust.Honored || conditions.Load() != 1 {
		t.Errorf("who asks by If-None-Match may be told so: %s %s", rep.Round.Reach.Outcome, rep.Round.Reach.Reason)
	}
}
