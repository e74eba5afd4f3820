package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

func TestAReportBringsAProbeOutOfWhatIsKeptForRequests(t *testing.T) {
	s := newStage(t)
	s.prove()
	before := s.settled("planner")
	s.says("booking", "pod-1", "planner")

	s.settle("planner")
	s.settle("planner")
	jobs := slices.DeleteFunc(s.asked(), func(j probe.Job) bool { return j.Kind != trust.Behavior })
	if len(jobs) != 1 || !slices.Equal(jobs[0].Ask, []trust.Capability{trust.Streaming}) || jobs[0].Unmarked {
		t.Fatalf("a report of Streaming brought %+v, want one round of Streaming", jobs)
	}
	p := s.get("planner")
	s.wantState("planner", trust.Streaming, trust.Trusted)
	if got, was := requestedTasks(p), requestedTasks(before); got == was {
		t.Errorf("%d tasks are charged to requests, as before: a report spends what is kept for them", got)
	}
	if got := capability(p, trust.Streaming).LastHonoredTime; got == nil || !got.Time.Equal(s.clock.Now()) {
		t.Errorf("lastHonoredTime is %v, want when that round began", got)
	}
	s.pass("planner", 10*time.Minute)
	if jobs := slices.DeleteFunc(s.asked(), func(j probe.Job) bool { return j.Kind != trust.Behavior }); len(jobs) > 0 {
		t.Errorf("the same report brought another round: %+v", jobs)
	}
	if e := p.Status.Effective.Reports; e.Mode != trustv1alpha1.ReportsProbe || *e.Quorum != 2 || e.Window.Duration != 15*time.Minute {
		t.Errorf("effective: %+v, want the operator's defaults", e)
	}
}

func TestAQuorumOfOrchestratorsDemotesAtOnceAndACleanRoundLifts(t *testing.T) {
	s := newStage(t)
	s.prove()
	s.settled("planner", demotable)
	s.says("booking", "pod-1", "planner")
	s.settle("planner")
	s.wantState("planner", trust.Streaming, trust.Trusted)
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	s.says("booking", "pod-1", "planner") // the round was clean: both have to see it again
	s.says("support", "pod-7", "planner")
	s.play("planner", s.silent)

	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.wantState("planner", trust.Streaming, trust.Demoted)
	p := s.get("planner")
	c := capability(p, trust.Streaming)
	if c.Reason != trustv1alpha1.ReasonReportedByOrchestrators || c.Source != trustv1alpha1.SourceReport || c.Demotions != 0 || c.DemotedUntil != nil ||
		c.Reports == nil || c.Reports.Reporters != 2 || p.Status.Decision.Path != trustv1alpha1.PathSingleShot {
		t.Errorf("shown: %+v, decision %+v, want a demotion by two reporters", c, p.Status.Decision)
	}
	if want := "contradictions reported by 2 ServiceAccounts, the newest: StreamClosedWithoutTerminalState; a clean round begun later lifts this"; c.Message != want {
		t.Errorf("message %q, want %q", c.Message, want)
	}
	if told := s.told(); strings.Count(told, trustv1alpha1.ReasonReportedByOrchestrators) != 1 {
		t.Errorf("told %q, want one event", told)
	}
	if n := s.figure("agentpeer_demotions_total", "source", "Report", "capability", "Streaming"); n != 1 {
		t.Errorf("%v demotions by reports counted, want 1", n)
	}
	for range 3 {
		s.pass("planner", 10*time.Second)
	}
	if n := s.counted(); n > 3 {
		t.Errorf("%d writes while nothing changes", n)
	}
	s.play("planner", s.honest)
	s.pass("planner", 5*time.Minute)
	s.wantState("planner", trust.Streaming, trust.Trusted)
	if c := capability(s.get("planner"), trust.Streaming); c.Source != "" || c.Message != "" || c.Reports == nil || c.Reports.LiftedTime == nil {
		t.Errorf("shown: %+v, want it lifted", c)
	}
}

func TestManyPodsOfOneServiceAccountAreOneWitness(t *testing.T) {
	s := newStage(t)
	s.prove()
	s.settled("planner", demotable)
	for i := range 5 {
		s.says("booking", fmt.Sprintf("pod-%d", i), "planner")
	}
	s.says("stranger", "pod-1", "planner") // not listed
	s.settle("planner")
	s.wantState("planner", trust.Streaming, trust.Trusted)

	s.edit("planner", func(p *trustv1alpha1.AgentPeer) { p.Spec.Reports.Quorum = ptr.To[int32](1) })
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	s.says("booking", "pod-3", "planner")
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.wantState("planner", trust.Streaming, trust.Demoted)
	if c := capability(s.get("planner"), trust.Streaming); c.Reports.Reporters != 1 {
		t.Errorf("%d reporters, want 1", c.Reports.Reporters)
	}
}

// An agent that treats probes better than users is found out: reports come back after a clean round, and rounds go on without the mark.
func TestAnAgentThatSparesProbesSeesRoundsWithoutTheMark(t *testing.T) {
	s := newStage(t)
	s.prove()
	a := agent.New()
	url := a.Start(t)
	s.r.Egress = agent.Loopback()
	s.play("planner", func(ctx context.Context, job probe.Job) probe.Report {
		now := s.clock.Now()
		r := probe.Run(ctx, probe.Env{Egress: agent.Loopback(), UserAgent: "agentpeer-operator/test"}, job)
		r.Round.Started, r.Round.Finished = now, now // on the stage's clock
		return r
	})
	s.settled("planner", demotable, func(p *trustv1alpha1.AgentPeer) { p.Spec.URL = url })
	digest := s.get("planner").Status.Card.ClaimsDigest
	target := s.get("planner").Status.Target
	both := func() {
		for _, account := range []string{"booking", "support"} {
			s.says(account, "pod-1", "planner", func(r *trustv1alpha1.AgentPeerReport) { r.Spec.ClaimsDigest, r.Spec.Target = digest, target })
		}
	}
	both()
	s.settle("planner")
	s.pass("planner", 5*time.Minute) // demoted, asked, clean, lifted
	s.wantState("planner", trust.Streaming, trust.Trusted)
	if n := s.figure("agentpeer_demotions_total", "source", "Report"); n != 1 {
		t.Fatalf("%v demotions by reports, want 1", n)
	}
	so := len(a.Requests())
	both()
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	c := capability(s.get("planner"), trust.Streaming)
	if c.Reason != trustv1alpha1.ReasonProbesAndReportsDisagree || c.Demotions != 1 || c.DemotedUntil == nil {
		t.Fatalf("shown: %+v, want a counted demotion, as probes and reports disagree", c)
	}
	ours := func(r agent.Request) bool {
		return strings.Contains(string(r.Params), probe.MarkKey) || strings.Contains(r.Header.Get("User-Agent"), "agentpeer")
	}
	for _, r := range a.Requests()[:so] {
		if !ours(r) {
			t.Errorf("before that a request does not show that it is ours: %s %s", r.Method, r.Params)
		}
	}
	s.asked()
	s.pass("planner", 40*time.Minute)
	unmarked := 0
	for _, job := range s.asked() {
		asks := slices.Contains(job.Ask, trust.Streaming)
		if asks && job.Unmarked {
			unmarked++
		}
		if asks != job.Unmarked && unmarked < 2 {
			t.Errorf("round %d asks %v, unmarked %v", job.Round, job.Ask, job.Unmarked)
		}
	}
	silent := 0
	for _, r := range a.Requests()[so:] {
		if !ours(r) && r.Method != "card" && r.Header.Get("User-Agent") == "Go-http-client/1.1" {
			silent++
		}
	}
	if unmarked < 2 || silent < 2 {
		t.Errorf("%d rounds without the mark, of which the agent saw %d requests; want the two clean ones that lift it at least", unmarked, silent)
	}
	s.wantState("planner", trust.Streaming, trust.Trusted)
}

// One rogue among those who may report, and any number of strangers, below the quorum: an honest peer and its twin of whom nobody says
// anything go the same way, and what the rogue costs is at most half of what is kept for requests.
func TestSecurityReportsForgedByTheThousandMoveNoVerdictAndNoRenewal(t *testing.T) {
	s := newStage(t)
	s.prove()
	s.settled("planner", demotable)
	s.settled("twin", demotable)
	rogue, stranger := s.as("rogue", ""), s.as("stranger", "")
	var writing sync.WaitGroup
	for part := range 8 {
		writing.Go(func() {
			for i := part; i < 1000; i += 8 {
				c, account := rogue, "rogue"
				if i%10 == part {
					c, account = stranger, "stranger"
				}
				r := s.reportObject("x", account, "", "planner")
				forged(i)(r)
				if err := c.Create(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	var held trustv1alpha1.AgentPeerReportList
	if err := s.client.List(t.Context(), &held, client.InNamespace(s.namespace)); err != nil || len(held.Items) != 1000 {
		t.Fatalf("%d reports stand, error %v", len(held.Items), err)
	}
	s.reports = &held
	began, lowest := s.clock.Now(), int32(100)
	ordinary := map[string]int{}
	for s.clock.Now().Before(began.Add(6 * time.Hour)) {
		from := s.clock.Now()
		s.pass("twin", 20*time.Minute)
		s.clock.SetTime(from)
		s.pass("planner", 20*time.Minute)
		for _, name := range []string{"planner", "twin"} {
			p := s.get(name)
			c := capability(p, trust.Streaming)
			if c.State != trustv1alpha1.Trusted || p.Status.Decision.Path != trustv1alpha1.PathStreaming || c.Demotions != 0 {
				t.Fatalf("%s after %v: Streaming is %s (%s)", name, s.clock.Now().Sub(began), c.State, c.Reason)
			}
			if c.ExpirationTime.Sub(s.clock.Now()) < 100*time.Minute {
				t.Errorf("%s after %v: trust in Streaming has only %v left: a renewal was missed", name, s.clock.Now().Sub(began), c.ExpirationTime.Sub(s.clock.Now()))
			}
		}
		lowest = min(lowest, 72/3/2-requestedTasks(s.get("planner")))
	}
	for _, name := range []string{"planner", "twin"} {
		rounds := s.get(name).Status.Rounds
		ordinary[name] = int(rounds.TasksLast24h - requestedTasks(s.get(name)))
	}
	if lowest < 0 || requestedTasks(s.get("planner")) == 0 {
		t.Errorf("the reports cost %d tasks, want some and at most %d", requestedTasks(s.get("planner")), 72/3/2)
	}
	if ordinary["planner"] > ordinary["twin"] {
		t.Errorf("renewals cost %d tasks, of the twin %d", ordinary["planner"], ordinary["twin"])
	}
	if requestedTasks(s.get("twin")) != 0 {
		t.Error("the twin was asked on somebody's report")
	}
	t.Logf("renewals %v, the reports cost %d tasks", ordinary, requestedTasks(s.get("planner")))
}

func TestReportsThatNobodyProvesAreIgnoredAndThatIsSaid(t *testing.T) {
	s := newStage(t)
	s.settled("planner", demotable, func(p *trustv1alpha1.AgentPeer) { p.Spec.Reports.Quorum = ptr.To[int32](1) })
	s.r.identity.name = s.namespace + "-missing"
	rr := s.r.reportReconciler()
	name := s.says("booking", "pod-1", "planner")

	s.pass("planner", time.Minute)
	s.wantState("planner", trust.Streaming, trust.Trusted)
	if jobs := slices.DeleteFunc(s.asked(), func(j probe.Job) bool { return j.Kind != trust.Behavior }); len(jobs) > 0 {
		t.Errorf("a report that nobody proves brought %+v", jobs)
	}
	s.wantAccepted(rr, name, metav1.ConditionFalse, trustv1alpha1.ReasonReportPolicyMissing)
	if n := s.figure("agentpeer_report_policy_present"); n != 0 {
		t.Errorf("agentpeer_report_policy_present is %v", n)
	}

	s.prove()
	s.clock.SetTime(s.clock.Now().Add(identityFor))
	s.settle("planner")
	s.wantState("planner", trust.Streaming, trust.Trusted) // of what was written before the policy nobody knows who wrote it
	if status, _ := s.acknowledge(rr, name); status != nil {
		t.Errorf("a report written before the policy stands: %+v, want it deleted", status)
	}
	s.says("booking", "pod-1", "planner")
	if _, err := s.reconcile("planner"); err != nil {
		t.Fatal(err)
	}
	s.wantState("planner", trust.Streaming, trust.Demoted)
	s.wantAccepted(rr, name, metav1.ConditionTrue, trustv1alpha1.ReasonReportWeighed)
	if n := s.figure("agentpeer_report_policy_present"); n != 1 {
		t.Errorf("agentpeer_report_policy_present is %v", n)
	}
	for outcome, want := range map[string]float64{"Weighed": 1, "ReportPolicyMissing": 1, "Deleted": 1} {
		if got := s.figure("agentpeer_reports_total", "outcome", outcome); got != want {
			t.Errorf("agentpeer_reports_total{outcome=%q} is %v, want %v", outcome, got, want)
		}
	}

	s.unprove()
	s.clock.SetTime(s.clock.Now().Add(identityFor))
	s.wantAccepted(rr, name, metav1.ConditionFalse, trustv1alpha1.ReasonReportPolicyMissing)
}

func TestWhichReportsCount(t *testing.T) {
	s := newStage(t)
	s.prove()
	s.settled("planner", demotable, func(p *trustv1alpha1.AgentPeer) { p.Spec.Reports.Quorum = ptr.To[int32](1) })
	s.settled("deaf", func(p *trustv1alpha1.AgentPeer) { p.Spec.Reports.Mode = trustv1alpha1.ReportsIgnore })
	rr := s.r.reportReconciler()
	for name, tc := range map[string]struct {
		account, peer string
		change        func(*trustv1alpha1.AgentPeerReport)
		reason        string
	}{
		"one of the peer":                {"booking", "planner", func(*trustv1alpha1.AgentPeerReport) {}, trustv1alpha1.ReasonReportWeighed},
		"one of somebody not listed":     {"stranger", "planner", func(*trustv1alpha1.AgentPeerReport) {}, trustv1alpha1.ReasonReporterNotListed},
		"one of another target":          {"booking", "planner", func(r *trustv1alpha1.AgentPeerReport) { r.Spec.Target = "https://other.example.com/" }, trustv1alpha1.ReasonReportOfOtherTarget},
		"one of another object":          {"booking", "planner", func(r *trustv1alpha1.AgentPeerReport) { r.Spec.PeerRef.UID = "0" }, trustv1alpha1.ReasonReportOfOtherTarget},
		"one of a peer that is not":      {"booking", "nobody", func(*trustv1alpha1.AgentPeerReport) {}, trustv1alpha1.ReasonPeerNotFound},
		"one that the peer ignores":      {"booking", "deaf", func(*trustv1alpha1.AgentPeerReport) {}, trustv1alpha1.ReasonReportsIgnored},
		"one that is an hour old":        {"booking", "planner", func(r *trustv1alpha1.AgentPeerReport) { r.Spec.Window = hoursAgo(s, 1) }, trustv1alpha1.ReasonReportExpired},
		"one that counts nothing at all": {"booking", "planner", func(r *trustv1alpha1.AgentPeerReport) { r.Spec.Capabilities, r.Spec.Divergences = nil, nil }, trustv1alpha1.ReasonReportWeighed},
	} {
		t.Run(name, func(t *testing.T) {
			report := s.says(tc.account, "pod-1", tc.peer, func(r *trustv1alpha1.AgentPeerReport) {
				r.Name = strings.ReplaceAll(name, " ", "-")
				tc.change(r)
			})
			want := metav1.ConditionFalse
			if tc.reason == trustv1alpha1.ReasonReportWeighed {
				want = metav1.ConditionTrue
			}
			s.wantAccepted(rr, report, want, tc.reason)
			if name == "one of the peer" {
				return
			}
			if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: tc.peer}, &trustv1alpha1.AgentPeer{}); err == nil {
				f, err := s.r.gather(t.Context(), s.get(tc.peer), &remembered{})
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range f.testimonies {
					if !x.Diverged.IsZero() && !x.Diverged.Equal(s.clock.Now()) {
						t.Errorf("it is heard: %+v", x)
					}
				}
			}
			if err := s.client.Delete(t.Context(), &trustv1alpha1.AgentPeerReport{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: report}}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func hoursAgo(s *stage, h int) trustv1alpha1.ReportWindow {
	end := metav1.NewTime(s.clock.Now().Add(-time.Duration(h) * time.Hour))
	return trustv1alpha1.ReportWindow{StartTime: end, EndTime: end}
}

// A report names a peer of its own namespace, whatever it says, so nobody reports into another.
func TestAReportOfAnotherNamespaceIsOfNobodyHere(t *testing.T) {
	s := newStage(t)
	s.prove()
	p := s.settled("planner", demotable, func(p *trustv1alpha1.AgentPeer) { p.Spec.Reports.Quorum = ptr.To[int32](1) })
	here := s.namespace
	s.namespace = s.server.Namespace(t)
	rr := s.r.reportReconciler()
	name := s.says("booking", "pod-1", "planner", func(r *trustv1alpha1.AgentPeerReport) { r.Spec.PeerRef.UID = string(p.UID) })
	s.wantAccepted(rr, name, metav1.ConditionFalse, trustv1alpha1.ReasonPeerNotFound)
	s.namespace = here
	s.settle("planner")
	s.wantState("planner", trust.Streaming, trust.Trusted)
}

func TestReportsAreAcknowledgedOnceAndCollected(t *testing.T) {
	s := newStage(t)
	s.prove()
	s.settled("planner")
	rr := s.r.reportReconciler()
	name := s.says("booking", "pod-1", "planner")
	first, again := s.acknowledge(rr, name)
	if want := s.clock.Now().Add(24 * time.Hour); first.ObservedGeneration != 1 || !first.ExpirationTime.Time.Equal(want) || again != 15*time.Minute {
		t.Fatalf("acknowledged %+v, again after %v; want generation 1, expiration %v, and a look when it is too old", first, again, want)
	}
	version := func() string {
		var r trustv1alpha1.AgentPeerReport
		if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &r); err != nil {
			t.Fatal(err)
		}
		return r.ResourceVersion
	}
	v := version()
	s.acknowledge(rr, name)
	if version() != v {
		t.Error("a report was acknowledged twice")
	}
	s.clock.SetTime(s.clock.Now().Add(10 * time.Second))
	s.says("booking", "pod-1", "planner")
	if status, again := s.acknowledge(rr, name); status.ObservedGeneration != 1 || again != 50*time.Second {
		t.Errorf("acknowledged generation %d, again after %v; want no second write within a minute", status.ObservedGeneration, again)
	}
	s.clock.SetTime(s.clock.Now().Add(50 * time.Second))
	if status, _ := s.acknowledge(rr, name); status.ObservedGeneration != 2 {
		t.Errorf("acknowledged generation %d a minute later, want 2", status.ObservedGeneration)
	}
	s.clock.SetTime(s.clock.Now().Add(15 * time.Minute))
	s.wantAccepted(rr, name, metav1.ConditionFalse, trustv1alpha1.ReasonReportExpired)
	s.clock.SetTime(s.clock.Now().Add(24 * time.Hour))
	if status, _ := s.acknowledge(rr, name); status != nil {
		t.Errorf("a day later it stands: %+v", status)
	}

	name = s.says("booking", "pod-1", "planner", func(r *trustv1alpha1.AgentPeerReport) {
		end := metav1.NewTime(s.clock.Now().AddDate(50, 0, 0))
		r.Spec.Window = trustv1alpha1.ReportWindow{StartTime: end, EndTime: end}
	})
	s.acknowledge(rr, name)
	s.clock.SetTime(s.clock.Now().Add(24*time.Hour - time.Minute))
	if status, again := s.acknowledge(rr, name); status == nil || again > time.Minute {
		t.Errorf("one whose window ends in fifty years: %+v, again after %v; want its last minute", status, again)
	}
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	if status, _ := s.acknowledge(rr, name); status != nil {
		t.Errorf("a day after it was first seen it stands: %+v", status)
	}

	name = s.says("booking", "pod-1", "planner")
	s.wantAccepted(rr, name, metav1.ConditionTrue, trustv1alpha1.ReasonReportWeighed)
	if err := s.client.Delete(t.Context(), s.get("planner")); err != nil {
		t.Fatal(err)
	}
	s.wantAccepted(rr, name, metav1.ConditionFalse, trustv1alpha1.ReasonPeerNotFound)
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	if status, _ := s.acknowledge(rr, name); status != nil {
		t.Errorf("a minute after its peer is gone it stands: %+v", status)
	}
}

// Whatever passes the schema is read without harm.
func TestMalformedReportsAreHarmless(t *testing.T) {
	s := newStage(t)
	s.prove()
	s.settled("planner", demotable, func(p *trustv1alpha1.AgentPeer) { p.Spec.Reports.Quorum = ptr.To[int32](1) })
	rr := s.r.reportReconciler()
	uid := string(s.get("planner").UID)
	now := s.clock.Now().Format(time.RFC3339)
	c := s.as("booking", "")
	for i, spec := range []map[string]any{
		{},
		{"capabilities": []any{map[string]any{"name": "Streaming", "diverged": int64(2147483647)}}}, // when?
		{"capabilities": []any{map[string]any{"name": "Streaming", "diverged": int64(0), "lastDivergedTime": now}}},
		{"capabilities": []any{map[string]any{"name": "Streaming", "diverged": int64(1), "lastDivergedTime": "9999-12-31T23:59:59.999999999Z"}}, "window": map[string]any{"startTime": "9999-12-31T00:00:00Z", "endTime": "9999-12-31T23:59:59Z"}},
		{"capabilities": []any{map[string]any{"name": "Streaming", "diverged": int64(1), "lastDivergedTime": "1970-01-01T00:00:00Z"}}},
		{"divergences": []any{map[string]any{"capability": "Streaming", "reason": "StreamEmpty", "basis": "Card", "time": now, "taskID": "x", "observed": []any{"a@1µs"}}}},
		{"claimsDigest": "sha256:" + strings.Repeat("0", 64), "capabilities": []any{map[string]any{"name": "Streaming", "diverged": int64(1), "lastDivergedTime": now}}},
		{"capabilities": []any{map[string]any{"name": "Lifecycle", "suspected": int64(3), "lastSuspectedTime": now, "honored": int64(1)}}},
	} {
		o := map[string]any{"peerRef": map[string]any{"name": "planner", "uid": uid}, "reporter": map[string]any{"namespace": s.namespace, "name": "booking"},
			"target": "https://planner.example.com/", "claimsDigest": digestA, "window": map[string]any{"startTime": now, "endTime": now}}
		for k, v := range spec {
			o[k] = v
		}
		u := &unstructured.Unstructured{Object: map[string]any{"spec": o}}
		u.SetAPIVersion(trustv1alpha1.GroupVersion.String())
		u.SetKind("AgentPeerReport")
		u.SetNamespace(s.namespace)
		u.SetName(fmt.Sprintf("odd-%d", i))
		if err := c.Create(t.Context(), u); err != nil {
			t.Fatalf("report %d: %v", i, err)
		}
		s.acknowledge(rr, u.GetName())
		s.settle("planner")
		s.wantState("planner", trust.Streaming, trust.Trusted)
	}
	if n := requestedTasks(s.get("planner")); n > 12 {
		t.Errorf("they cost %d tasks", n)
	}
}

func TestAPolicyThatDoesNotProveIsNone(t *testing.T) {
	fresh := func() (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
		p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail), Validations: []admissionv1.Validation{{Expression: "false"}},
			MatchConstraints: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"trust.agentpeer.dev"}, APIVersions: []string{"*"}, Resources: []string{"agentpeerreports"}}}}}}}}
		b := &admissionv1.ValidatingAdmissionPolicyBinding{Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "p",
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny, admissionv1.Audit}}}
		return p, b
	}
	if p, b := fresh(); proves(p, b) != "" {
		t.Fatalf("a good one proves nothing: %s", proves(p, b))
	}
	some := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	for name, change := range map[string]func(*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding){
		"it lets pass what it cannot judge": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.FailurePolicy = ptr.To(admissionv1.Ignore)
		},
		"it validates nothing": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.Validations = nil
		},
		"it matches nothing": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.MatchConstraints = nil
		},
		"it looks at creation alone": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionv1.OperationType{admissionv1.Create}
		},
		"it is of another resource": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.MatchConstraints.ResourceRules[0].Resources = []string{"agentpeers"}
		},
		"it is of some names": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.MatchConstraints.ResourceRules[0].ResourceNames = []string{"x"}
		},
		"it leaves namespaces out": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.MatchConstraints.NamespaceSelector = some
		},
		"it excludes": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.MatchConstraints.ExcludeResourceRules = p.Spec.MatchConstraints.ResourceRules
		},
		"its binding only audits": func(_ *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
		},
		"its binding is of another": func(_ *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.PolicyName = "q"
		},
		"its binding is narrowed": func(_ *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.MatchResources = &admissionv1.MatchResources{ObjectSelector: some}
		},
		"it is being deleted": func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
			p.DeletionTimestamp = &metav1.Time{Time: epoch}
		},
	} {
		p, b := fresh()
		if change(p, b); proves(p, b) == "" {
			t.Errorf("%s, and it is taken for proof", name)
		}
	}
}

// An operator without the right to look ignores reports; one whose API server gives no answer keeps to what it knew.
func TestReportsAndAnAPIServerThatDoesNotSay(t *testing.T) {
	s := newStage(t)
	s.prove()
	config := *s.server.Config
	config.Impersonate.UserName = "nobody-in-particular"
	blind, err := client.New(&config, client.Options{Scheme: s.server.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	i := &reportIdentity{client: blind, name: s.r.ReportPolicy, clock: s.clock, metrics: NewMetrics(prometheus.NewRegistry())}
	if since := i.proven(t.Context()); !since.IsZero() || !strings.Contains(i.why, "may not get") {
		t.Errorf("proven since %v, why %q", since, i.why)
	}
	i.client = s.client
	if since := i.proven(t.Context()); !since.IsZero() {
		t.Error("asked again within half a minute")
	}
	s.clock.SetTime(s.clock.Now().Add(identityFor))
	since := i.proven(t.Context())
	if since.IsZero() {
		t.Fatalf("not proven: %s", i.why)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.clock.SetTime(s.clock.Now().Add(identityFor))
	if again := i.proven(gone); !again.Equal(since) {
		t.Errorf("without an answer: proven since %v, want %v as before", again, since)
	}
	if none := (*reportIdentity)(nil).proven(t.Context()); !none.IsZero() {
		t.Error("without a name for the policy: proven")
	}
}
