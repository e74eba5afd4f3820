package controllers

import (
	"context"
	"strings"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func TestAnAppliedPeerGetsAVerdict(t *testing.T) {
	s := newStage(t)
	s.peer("planner")

	s.settle("planner")

	p := s.get("planner")
	s.wantState("planner", trust.Streaming, trust.Trusted)
	if d := p.Status.Decision; d == nil || d.Path != trustv1alpha1.PathStreaming || d.ExpirationTime == nil {
		t.Errorf("decision is %+v, want Streaming with an expiration", d)
	}
	if p.Status.Target != "https://planner.example.com/" || p.Status.Card == nil || p.Status.Card.Interface == nil {
		t.Errorf("target %q and card %+v, want those of the peer", p.Status.Target, p.Status.Card)
	}
	for kind, want := range map[string]metav1.ConditionStatus{
		trustv1alpha1.ConditionReady: "True", trustv1alpha1.ConditionReachable: "True", trustv1alpha1.ConditionCardValid: "True",
		trustv1alpha1.ConditionTrusted: "True", trustv1alpha1.ConditionRequirementsMet: "True",
	} {
		s.wantCondition("planner", kind, want, "")
	}
	s.wantKStatus("planner", kstatus.CurrentStatus)
	if n := size(p.Status); n > 4<<10 {
		t.Errorf("the status of a healthy peer has %d bytes, want at most 4096", n)
	}
	if got := s.figure("agentpeer_trust_state", "name", "planner", "capability", "Streaming", "state", "Trusted"); got != 1 {
		t.Errorf("agentpeer_trust_state is %v, want 1", got)
	}
}

func TestALiarIsDemotedAndStaysReady(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.play("planner", s.liar)

	s.settle("planner")
	s.wantState("planner", trust.Streaming, trust.Unverified) // one contradiction is not enough
	s.pass("planner", 10*time.Minute)

	s.wantState("planner", trust.Streaming, trust.Demoted)
	p := s.get("planner")
	got := capability(p, trust.Streaming)
	if got.Reason != "StreamEmpty" || got.Message == "" || len(got.Observed) == 0 || len(got.Recent) < 2 {
		t.Errorf("the demotion is not explained: %+v", got)
	}
	if p.Status.Decision.Path != trustv1alpha1.PathSingleShot {
		t.Errorf("path is %s, want SingleShot", p.Status.Decision.Path)
	}
	s.wantCondition("planner", trustv1alpha1.ConditionTrusted, metav1.ConditionFalse, trustv1alpha1.ReasonCapabilityDemoted)
	s.wantKStatus("planner", kstatus.CurrentStatus) // no rollout hangs on a liar
	if told := s.told(); strings.Count(told, "Streaming is Demoted") != 1 || !strings.Contains(told, "Warning StreamEmpty") {
		t.Errorf("events are %q, want one warning StreamEmpty", told)
	}
	if got := s.figure("agentpeer_demotions_total", "capability", "Streaming"); got != 1 {
		t.Errorf("agentpeer_demotions_total is %v, want 1", got)
	}
}

func TestSteadyStateIsOneWriteABehaviourRoundAndNoneForCheapRounds_CaseC104(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.asked()
	s.counted()

	s.pass("planner", 6*time.Hour)

	behavior, cheap := 0, 0
	for _, job := range s.asked() {
		if job.Kind == trust.Behavior {
			behavior++
		} else {
			cheap++
		}
	}
	if behavior < 5 || cheap < 50 {
		t.Fatalf("%d behaviour and %d cheap rounds in 6 h, want about 6 and 66", behavior, cheap)
	}
	if writes := s.counted(); writes != behavior {
		t.Errorf("%d writes for %d behaviour and %d cheap rounds, want one each and none", writes, behavior, cheap)
	}
	s.wantState("planner", trust.Streaming, trust.Trusted)
}

func TestNothingIsWrittenTwiceWhenNothingChanges_CaseC104(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.counted()
	version := s.get("planner").ResourceVersion

	for range 20 {
		s.settle("planner")
	}

	if n := s.counted(); n != 0 || s.get("planner").ResourceVersion != version {
		t.Errorf("%d writes for 20 reconciliations of an unchanged peer, want none", n)
	}
}

func TestAPeerOutOfReachStaysReadyAndIsToldOfOnce_CaseC88(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.play("planner", s.silent)
	s.told()

	s.pass("planner", 8*time.Minute) // one or two failures
	s.wantCondition("planner", trustv1alpha1.ConditionReachable, metav1.ConditionTrue, "")
	s.wantState("planner", trust.Streaming, trust.Trusted)
	s.counted()
	s.pass("planner", 40*time.Minute)

	s.wantCondition("planner", trustv1alpha1.ConditionReachable, metav1.ConditionFalse, "Unreachable")
	s.wantState("planner", trust.Streaming, trust.Trusted) // what was learned holds until it expires
	s.wantKStatus("planner", kstatus.CurrentStatus)
	if told := s.told(); strings.Count(told, "Reachable is False") != 1 {
		t.Errorf("events are %q, want one of Reachable", told)
	}
	if n := s.counted(); n > 2 {
		t.Errorf("%d writes for one change of meaning", n)
	}
}

func TestAnAgentThatWasNeverReachedIsUnknownAndWarnsNobody(t *testing.T) {
	s := newStage(t)
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.RequiredCapabilities = []trustv1alpha1.RequirableCapability{"Streaming"}
	})
	s.play("planner", s.silent)

	s.settle("planner")

	s.wantCondition("planner", trustv1alpha1.ConditionRequirementsMet, metav1.ConditionUnknown, trustv1alpha1.ReasonRequirementUnverified)
	s.wantMessage("planner", trustv1alpha1.ConditionRequirementsMet, "Streaming: Unreachable")
	s.wantCondition("planner", trustv1alpha1.ConditionTrusted, metav1.ConditionUnknown, "")
	s.wantCondition("planner", trustv1alpha1.ConditionReachable, metav1.ConditionUnknown, "Unreachable")
	p := s.get("planner")
	if d := p.Status.Decision; d.Path != trustv1alpha1.PathSingleShot || d.Reason != "Unreachable" {
		t.Errorf("decision is %s (%s), want SingleShot (Unreachable)", d.Path, d.Reason)
	}
	if got := capability(p, trust.Streaming); got.Declared != "" || got.Reason != "Unreachable" {
		t.Errorf("Streaming is %q (%s), want no declaration as no card was read, and Unreachable", got.Declared, got.Reason)
	}
	if told := s.told(); told != "" {
		t.Errorf("events are %q, want none: nothing is known against it", told)
	}
	s.wantKStatus("planner", kstatus.CurrentStatus)

	s.play("planner", s.honest)
	s.pass("planner", 10*time.Minute)
	s.wantCondition("planner", trustv1alpha1.ConditionRequirementsMet, metav1.ConditionTrue, "")
	if got := capability(s.get("planner"), trust.Streaming); got.Declared != trustv1alpha1.Declared {
		t.Errorf("Streaming is %q once the card was read, want Declared", got.Declared)
	}
}

func TestARoundAskedForRightAfterAContradictionDoesNotConfirmIt(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.play("planner", s.liar)
	s.settle("planner")

	for _, at := range []string{"at once", "again", "and again"} {
		s.clock.SetTime(s.clock.Now().Add(20 * time.Second))
		s.edit("planner", func(p *trustv1alpha1.AgentPeer) {
			p.Annotations = map[string]string{trustv1alpha1.RequestedAtAnnotation: at}
		})
		s.settle("planner")
		if got := s.get("planner").Status.LastHandledRequestedAt; got != at {
			t.Errorf("handled %q, want %q", got, at)
		}
		s.wantState("planner", trust.Streaming, trust.Unverified) // the same incident, seen again
	}
	s.pass("planner", 5*time.Minute)
	s.wantState("planner", trust.Streaming, trust.Demoted)
}

func TestTrustNeverLastsLongerThanTheSpecSays(t *testing.T) {
	s := newStage(t)
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.Trust.Duration = duration(30 * time.Second) // the floor of the interval is 1 min
		p.Spec.Probes.Behavior.MaxTasksPerDay = ptr.To[int32](1000)
	})

	s.settle("planner")
	p := s.get("planner")
	e := p.Status.Effective
	if e.Trust.Duration.Duration != 30*time.Second || e.Behavior.Interval.Duration != time.Minute {
		t.Errorf("effective: trust for %s, asked every %s; want 30 s as it was said and 1 min", e.Trust.Duration.Duration, e.Behavior.Interval.Duration)
	}
	s.wantState("planner", trust.Streaming, trust.Trusted)
	if left := p.Status.Decision.ExpirationTime.Sub(s.clock.Now()); left > 30*time.Second {
		t.Errorf("the decision holds for %s, want at most 30 s", left)
	}
	lapsed := 0
	for range 18 {
		s.pass("planner", 10*time.Second)
		c := capability(s.get("planner"), trust.Streaming)
		switch left := c.ExpirationTime; {
		case c.State != trustv1alpha1.Trusted:
			lapsed++
		case left == nil || left.Sub(s.clock.Now()) > 30*time.Second || left.Time.Before(s.clock.Now()):
			t.Errorf("at %s Streaming is trusted until %v, want at most 30 s", s.clock.Now(), left)
		}
	}
	if lapsed == 0 {
		t.Error("trust that lasts 30 s never lapsed in 3 min, though it is renewed once a minute")
	}
	s.asked()
	s.pass("planner", 10*time.Minute)
	if n := len(s.asked()); n < 8 || n > 40 {
		t.Errorf("%d rounds in 10 min, want about one behaviour round a minute and two cheap ones", n)
	}
}

func TestTrustThatNothingRenewsIsWrittenAsExpired(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.play("planner", s.silent)

	s.pass("planner", 4*time.Hour)

	s.wantState("planner", trust.Streaming, trust.Unverified)
	p := s.get("planner")
	if got := capability(p, trust.Streaming).Reason; got != "TrustExpired" {
		t.Errorf("reason is %s, want TrustExpired", got)
	}
	if p.Status.Decision.Path != trustv1alpha1.PathSingleShot {
		t.Errorf("path is %s, want SingleShot", p.Status.Decision.Path)
	}
}

func TestSuspensionStopsProbesAndVerdictsExpire(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.edit("planner", func(p *trustv1alpha1.AgentPeer) { p.Spec.Suspend = true })
	s.settle("planner")
	s.asked()

	s.wantCondition("planner", trustv1alpha1.ConditionReady, metav1.ConditionTrue, trustv1alpha1.ReasonSuspended)
	s.wantState("planner", trust.Streaming, trust.Trusted)
	s.pass("planner", 4*time.Hour)

	s.wantState("planner", trust.Streaming, trust.Unverified)
	if jobs := s.asked(); len(jobs) != 0 {
		t.Errorf("%d rounds while suspended, want none", len(jobs))
	}
	s.wantKStatus("planner", kstatus.CurrentStatus)
}

func TestSuspensionCancelsARunningRound(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	canceled := make(chan struct{})
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report {
		<-ctx.Done()
		close(canceled)
		return s.silent(ctx, job)
	})
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.edit("planner", func(p *trustv1alpha1.AgentPeer) { p.Spec.Suspend = true })
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-canceled:
	case <-time.After(10 * time.Second):
		t.Fatal("the round goes on although probing was suspended")
	}
}

func TestAskingForARoundGetsOneAndAConfirmation(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.pass("planner", 10*time.Minute)
	s.asked()

	s.edit("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Annotations = map[string]string{trustv1alpha1.RequestedAtAnnotation: "2026-11-30T12:00:00Z"}
	})
	s.settle("planner")
	s.settle("planner")

	behavior := 0
	for _, job := range s.asked() {
		if job.Kind == trust.Behavior {
			behavior++
		}
	}
	if behavior != 1 {
		t.Errorf("%d behaviour rounds for one request, want 1", behavior)
	}
	if got := s.get("planner").Status.LastHandledRequestedAt; got != "2026-11-30T12:00:00Z" {
		t.Errorf("lastHandledRequestedAt is %q, want the request", got)
	}
}

func TestAnotherTargetStartsAfreshAndKeepsTheBudget(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	spent := s.get("planner").Status.Rounds.TasksLast24h
	if spent == 0 {
		t.Fatal("no tasks were counted")
	}
	s.play("planner", s.silent)
	s.edit("planner", func(p *trustv1alpha1.AgentPeer) { p.Spec.URL = "https://other.example.com/" })

	s.settle("planner")

	p := s.get("planner")
	if p.Status.Target != "https://other.example.com/" {
		t.Errorf("target is %q, want the new one", p.Status.Target)
	}
	if got := capability(p, trust.Streaming).State; got == trustv1alpha1.Trusted {
		t.Error("trust in the old target is shown for the new one")
	}
	if p.Status.Card != nil && p.Status.Card.ClaimsDigest != "" {
		t.Error("the card of the old target is shown for the new one")
	}
	if got := p.Status.Rounds.TasksLast24h; got < spent {
		t.Errorf("%d tasks in the last 24 h, want at least %d: another target must not refill the budget", got, spent)
	}
}

func TestObserveModeJudgesAndDecidesNothing(t *testing.T) {
	s := newStage(t)
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) { p.Spec.Trust.Mode = trustv1alpha1.TrustObserve })
	s.play("planner", s.liar)
	s.pass("planner", 10*time.Minute)

	s.wantState("planner", trust.Streaming, trust.Demoted)
	d := s.get("planner").Status.Decision
	if d.Path != trustv1alpha1.PathStreaming || d.Reason != "ObserveOnly" {
		t.Errorf("decision is %+v, want Streaming with ObserveOnly", d)
	}
	if d.Would == nil || d.Would.Path != trustv1alpha1.PathSingleShot {
		t.Errorf("would is %+v, want SingleShot", d.Would)
	}
}

func TestARequirementThatIsNotMetIsNamed(t *testing.T) {
	s := newStage(t)
	s.peer("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.RequiredCapabilities = []trustv1alpha1.RequirableCapability{"Streaming", "TaskRetrieval"}
	})
	s.play("planner", s.liar)
	s.pass("planner", 10*time.Minute)

	s.wantCondition("planner", trustv1alpha1.ConditionRequirementsMet, metav1.ConditionFalse, trustv1alpha1.ReasonRequirementNotMet)
	s.play("planner", s.honest)
	s.pass("planner", 24*time.Hour)
	s.wantCondition("planner", trustv1alpha1.ConditionRequirementsMet, metav1.ConditionTrue, trustv1alpha1.ReasonAllRequirementsMet)
	s.wantState("planner", trust.Streaming, trust.Trusted) // it recovered by itself
}

func TestAChangedCardIsANewClaim_CaseC107(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report {
		r := s.honest(ctx, job)
		r.Round.Claims.Digest, r.Card.Digest = digestB, digestB
		r.Round.Observations = nil
		if job.Kind == trust.Behavior {
			r.Round.Tasks = 0
		}
		return r
	})

	s.pass("planner", 6*time.Minute) // the next cheap round reads the card

	p := s.get("planner")
	if p.Status.Card.ClaimsDigest != digestB {
		t.Errorf("the verdict carries digest %s, want that of the new card", p.Status.Card.ClaimsDigest)
	}
	s.wantState("planner", trust.Streaming, trust.Unverified)
	if len(p.Status.Card.ClaimSets) < 2 {
		t.Errorf("%d claim sets are remembered, want the old one too", len(p.Status.Card.ClaimSets))
	}
}

func TestAPauseThatThePeerAsksForIsKept(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report {
		r := s.silent(ctx, job)
		r.Round.Reach.Reason, r.RetryAfter = trust.ReasonRateLimited, 2*time.Hour
		return r
	})
	s.settle("planner")
	s.asked()

	s.pass("planner", 110*time.Minute)
	if jobs := s.asked(); len(jobs) != 0 {
		t.Errorf("%d rounds within the two hours that the peer asked for, want none", len(jobs))
	}
	s.pass("planner", 20*time.Minute)
	if jobs := s.asked(); len(jobs) == 0 {
		t.Error("no round after the pause")
	}
}
