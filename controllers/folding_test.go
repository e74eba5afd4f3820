package controllers

import (
	"context"
	"strings"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func TestARestartFoldsNothingTwice(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.play("planner", s.liar)
	s.settle("planner")
	before := s.get("planner")
	s.asked()

	s.start() // a new process, which knows status only
	s.settle("planner")

	after := s.get("planner")
	if after.ResourceVersion != before.ResourceVersion {
		t.Error("the restart wrote status although nothing was learned")
	}
	if n := len(capability(after, trust.Streaming).Recent); n != 1 {
		t.Errorf("%d contradictions are remembered, want 1", n)
	}
	if jobs := s.asked(); len(jobs) != 0 {
		t.Errorf("%d rounds after the restart, want none: nothing runs early", len(jobs))
	}
	s.pass("planner", 10*time.Minute)
	s.wantState("planner", trust.Streaming, trust.Demoted) // and nothing was lost
}

func TestARestartInMidRoundRepeatsThatRoundOnly(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report { <-ctx.Done(); return s.silent(ctx, job) })
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.play("planner", s.honest)
	s.asked()

	s.settle("planner")

	jobs := s.asked()
	if len(jobs) == 0 || jobs[0].Round != 1 {
		t.Fatalf("%d rounds, want round 1 once more", len(jobs))
	}
	if got := s.get("planner").Status.Rounds.Last; got != int64(len(jobs)) {
		t.Errorf("last round is %d after %d rounds, want each counted once", got, len(jobs))
	}
}

func TestWhileTheAPIServerIsAwayTheReportWaits(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	if _, err := s.reconcile("planner"); err != nil { // writes what it knows and starts the round
		t.Fatal(err)
	}
	s.await("planner")
	s.before = func() error { return apierrors.NewServiceUnavailable("away") }

	for range 5 {
		if _, err := s.reconcile("planner"); err == nil {
			t.Fatal("want the API server's error to be returned")
		}
		s.clock.SetTime(s.clock.Now().Add(2 * time.Hour))
	}
	if jobs := s.asked(); len(jobs) != 1 {
		t.Fatalf("%d rounds, want no new one before the report is written", len(jobs))
	}
	if told := s.told(); told != "" {
		t.Errorf("told %q of what was not written", told)
	}
	if n := s.figure("agentpeer_rounds_total"); n != 0 {
		t.Errorf("%v rounds counted, want none yet", n)
	}

	s.before = nil
	s.counted()
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	if got := s.get("planner").Status.Rounds; got.Last != 1 || got.TasksLast24h != 2 {
		t.Errorf("rounds are %+v, want the one report folded once", got)
	}
	if n := s.counted(); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
	if n := s.figure("agentpeer_rounds_total"); n != 1 {
		t.Errorf("%v rounds counted, want 1", n)
	}
}

func TestAnEditInBetweenIsSeenBeforeStatusIsWritten(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.await("planner")
	edited := false
	s.before = func() error {
		if !edited {
			edited = true
			s.edit("planner", func(p *trustv1alpha1.AgentPeer) {
				p.Spec.RequiredCapabilities = []trustv1alpha1.RequirableCapability{"Streaming"}
			})
		}
		return nil
	}
	if _, err := s.reconcile("planner"); !apierrors.IsConflict(err) {
		t.Fatalf("got %v, want a conflict", err)
	}

	s.settle("planner")

	p := s.get("planner")
	if p.Status.ObservedGeneration != 2 {
		t.Errorf("observedGeneration is %d, want 2", p.Status.ObservedGeneration)
	}
	s.wantCondition("planner", trustv1alpha1.ConditionRequirementsMet, metav1.ConditionTrue, trustv1alpha1.ReasonAllRequirementsMet)
	s.wantKStatus("planner", kstatus.CurrentStatus)
}

func TestAReportOfAnOlderSpecIsThrownAwayAndItsTasksCounted(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	release := make(chan struct{})
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report { <-release; return s.liar(ctx, job) })
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.edit("planner", func(p *trustv1alpha1.AgentPeer) {
		p.Spec.Probes.Message = &trustv1alpha1.Message{Parts: []trustv1alpha1.Part{{Text: "hello"}}}
	})
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	close(release)
	s.await("planner")
	s.play("planner", s.honest)

	s.settle("planner")

	p := s.get("planner")
	if got := capability(p, trust.Streaming); len(got.Recent) != 1 || got.Recent[0].Outcome != trustv1alpha1.Honored {
		t.Errorf("recent is %+v, want nothing of the report about the older spec", got.Recent)
	}
	if got := p.Status.Rounds; got.Last < 2 || got.TasksLast24h != 4 {
		t.Errorf("rounds are %+v, want every number used and the tasks of both specs counted", got)
	}
	s.wantState("planner", trust.Streaming, trust.Trusted)
	if got := s.figure("agentpeer_rounds_total", "outcome", roundDiscarded); got != 1 {
		t.Errorf("%v rounds discarded, want 1", got)
	}
}

func TestAPeerOfTheSameNameInheritsNothing(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.play("planner", s.liar)
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.await("planner") // a report waits
	if err := s.client.Delete(t.Context(), s.get("planner")); err != nil {
		t.Fatal(err)
	}
	s.peer("planner")
	s.play("planner", s.honest)

	s.settle("planner")

	got := capability(s.get("planner"), trust.Streaming)
	if len(got.Recent) != 1 || got.Recent[0].Outcome != trustv1alpha1.Honored {
		t.Errorf("recent is %+v, want nothing of the object that was deleted", got.Recent)
	}
}

func TestADeletedPeerLeavesNothingBehind(t *testing.T) {
	s := newStage(t)
	p := s.peer("planner")
	s.settle("planner")
	if err := s.client.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}

	result, err := s.reconcile("planner")

	if err != nil || result != (ctrl.Result{}) {
		t.Errorf("got %+v and %v, want nothing to do", result, err)
	}
	if got := s.figure("agentpeer_trust_state"); got != 0 {
		t.Errorf("%v series are left, want none", got)
	}
	if len(s.r.memory.peers) != 0 {
		t.Errorf("%d peers are remembered, want none", len(s.r.memory.peers))
	}
}

func TestWipingStatusIsSafe(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.pass("planner", 30*time.Minute)
	p := s.get("planner")
	p.Status = trustv1alpha1.AgentPeerStatus{ObservedGeneration: -1}
	if err := s.client.Status().Update(t.Context(), p, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	s.play("planner", s.silent)

	s.settle("planner")
	s.wantState("planner", trust.Streaming, trust.Unverified)

	s.play("planner", s.honest)
	s.pass("planner", 2*time.Hour)
	s.wantState("planner", trust.Streaming, trust.Trusted)
}

func TestAnObjectOlderThanOurOwnWriteIsNotJudged(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	key := client.ObjectKey{Namespace: s.namespace, Name: "planner"}
	s.r.memory.peers[key].version = "99999999999999"
	s.clock.SetTime(s.clock.Now().Add(2 * time.Hour))
	s.asked()

	result, err := s.reconcile("planner")

	if err != nil || result.RequeueAfter != catchUp {
		t.Errorf("got %+v and %v, want to wait for the cache", result, err)
	}
	if jobs := s.asked(); len(jobs) != 0 {
		t.Error("a peer was asked on the ground of a status that has been overtaken")
	}
}

func TestAFaultOfOursIsNotThePeers(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report { // as the Runner reports a panic
		r := s.silent(ctx, job)
		r.Round.Reach.Reason = trust.ReasonPanicked
		return r
	})

	s.pass("planner", 90*time.Minute)

	s.wantState("planner", trust.Streaming, trust.Trusted)
	s.wantKStatus("planner", kstatus.CurrentStatus)
}

func TestTheFirstWordOnANewPeerIsItsVerdictIfThatComesSoon(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	result, err := s.reconcile("planner")
	if err != nil {
		t.Fatal(err)
	}
	if n := s.counted(); n != 0 {
		t.Errorf("%d writes before the first report, want none", n)
	}
	if result.RequeueAfter <= 0 || result.RequeueAfter > firstWordWithin {
		t.Errorf("looks again after %v, want within %v", result.RequeueAfter, firstWordWithin)
	}
	s.await("planner")
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	if n := s.counted(); n != 1 {
		t.Errorf("%d writes up to the first verdict, want 1", n)
	}
	s.wantState("planner", trust.Streaming, trust.Trusted)
	s.wantKStatus("planner", kstatus.CurrentStatus)
}

func TestANewPeerWhoseFirstRoundTakesLongIsSaidToBeAcceptedMeanwhile(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	release := make(chan struct{})
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report { <-release; return s.honest(ctx, job) })
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.clock.SetTime(s.clock.Now().Add(firstWordWithin))
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	if n := s.counted(); n != 1 {
		t.Errorf("%d writes after %v without a report, want 1", n, firstWordWithin)
	}
	if got := s.get("planner").Status.ObservedGeneration; got != 1 {
		t.Errorf("observedGeneration is %d, want 1", got)
	}
	close(release)
	s.settle("planner")
	s.wantState("planner", trust.Streaming, trust.Trusted)
}

func TestOneEventTellsOfAllThatChangedAlike(t *testing.T) {
	s := newStage(t)
	s.peer("planner")
	s.settle("planner")
	s.pass("planner", time.Minute) // the second look
	told := s.told()
	if want := "Lifecycle, TaskRetrieval are Trusted, was Unverified"; strings.Count(told, want) != 1 {
		t.Errorf("told:\n%s\nwant once %q", told, want)
	}
	if strings.Contains(told, "TaskRetrieval is Trusted") {
		t.Errorf("told:\n%s\nwant no event for TaskRetrieval alone", told)
	}
}
