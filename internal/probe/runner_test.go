package probe

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// inRunner runs a story in a bubble of fake time, with a Runner that is stopped at its end.
func inRunner(t *testing.T, o RunnerOptions, story func(t *testing.T, r *Runner, stop func() error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Log = logr.Discard()
		r := NewRunner(o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Start(ctx) }()
		synctest.Wait()
		var once sync.Once
		var err error
		stop := func() error {
			once.Do(func() { cancel(); err = <-ended })
			return err
		}
		story(t, r, stop)
		_ = stop()
	})
}

func jobOf(key, origin string, round int64) Job {
	u, err := url.Parse(origin)
	if err != nil {
		panic(err)
	}
	return Job{Target: Target{Key: key, URL: u}, Round: round, Kind: trust.Behavior}
}

// wentWell is the report of a round that went well.
func wentWell(job Job) Report {
	return Report{Key: job.Target.Key, Round: trust.Round{Number: job.Round, Finished: time.Now(), Reach: trust.Observation{Outcome: trust.Honored}}}
}

// hangs is the report of a peer that kept us waiting.
func hangs(job Job) Report {
	rep := wentWell(job)
	rep.Round.Reach = trust.Observation{Outcome: trust.Inconclusive, Reason: trust.ReasonUnreachable}
	return rep
}

func drain(r *Runner) (keys []string) {
	for {
		select {
		case k := <-r.Wake():
			keys = append(keys, k)
		default:
			return keys
		}
	}
}

func TestAReportStaysUntilItIsTakenOverAndBlocksTheNextRound(t *testing.T) {
	inRunner(t, RunnerOptions{Run: func(_ context.Context, _ Env, j Job) Report { return wentWell(j) }}, func(t *testing.T, r *Runner, _ func() error) {
		if !r.Submit(jobOf("a", "http://a", 1)) {
			t.Fatal("the first round was refused")
		}
		synctest.Wait()
		if got := drain(r); len(got) != 1 || got[0] != "a" {
			t.Fatalf("woken for %v, want a", got)
		}
		if r.Submit(jobOf("a", "http://a", 2)) {
			t.Error("round 2 was accepted although nobody took over report 1")
		}
		r.Done("a", 7)
		if rep, ok := r.Report("a"); !ok || rep.Round.Number != 1 {
			t.Errorf("Done of another round took report 1 away: %v %v", rep.Round.Number, ok)
		}
		r.Done("a", 1)
		if !r.Submit(jobOf("a", "http://a", 2)) {
			t.Error("round 2 was refused after report 1 had been taken over")
		}
	})
}

func TestOnlyOneRoundOfAPeerRunsAtOnce(t *testing.T) {
	inRunner(t, RunnerOptions{Run: func(ctx context.Context, _ Env, j Job) Report {
		<-ctx.Done()
		return wentWell(j)
	}}, func(t *testing.T, r *Runner, _ func() error) {
		r.Submit(jobOf("a", "http://a", 1))
		synctest.Wait()
		if r.Submit(jobOf("a", "http://a", 2)) {
			t.Error("a second round of a running peer was accepted")
		}
		if !r.Busy("a") {
			t.Error("a peer with a running round is not busy")
		}
	})
}

func TestAnOriginIsAskedByAFewRoundsAtATime(t *testing.T) {
	var running, most atomic.Int64
	inRunner(t, RunnerOptions{PerOrigin: 3, Run: func(_ context.Context, _ Env, j Job) Report {
		n := running.Add(1)
		defer running.Add(-1)
		if n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Second)
		return wentWell(j)
	}}, func(t *testing.T, r *Runner, _ func() error) {
		for i := range 12 {
			r.Submit(jobOf(fmt.Sprint(i), "https://one.example", 1))
		}
		// The default port is the same origin.
		r.Submit(jobOf("port", "https://one.example:443", 1))
		time.Sleep(5*time.Second + time.Millisecond)
		if got := most.Load(); got != 3 {
			t.Errorf("%d rounds ran at once against one origin, want 3", got)
		}
		if s := r.Stats(); s.Reports != 13 {
			t.Errorf("%d rounds are done after five turns of three, want all 13", s.Reports)
		}
	})
}

func TestHealthyPeersNeverWaitBehindPeersThatHang(t *testing.T) {
	run := func(ctx context.Context, _ Env, j Job) Report {
		if j.Target.URL.Scheme == "https" { // hangs
			select {
			case <-time.After(90 * time.Second):
			case <-ctx.Done():
			}
			return hangs(j)
		}
		time.Sleep(300 * time.Millisecond)
		return wentWell(j)
	}
	inRunner(t, RunnerOptions{Rounds: 16, Run: run}, func(t *testing.T, r *Runner, _ func() error) {
		for i := range 40 {
			r.Submit(jobOf(fmt.Sprint("hung", i), fmt.Sprintf("https://hung%d", i), 1))
		}
		time.Sleep(10 * time.Minute)
		for _, k := range drain(r) {
			r.Done(k, 1)
		}
		// From now on they are known to hang.
		for i := range 40 {
			r.Submit(jobOf(fmt.Sprint("hung", i), fmt.Sprintf("https://hung%d", i), 2))
		}
		start := time.Now()
		for i := range 16 {
			r.Submit(jobOf(fmt.Sprint("fine", i), fmt.Sprintf("http://fine%d", i), 1))
		}
		for done := 0; done < 16; done++ {
			<-r.Wake()
		}
		if took := time.Since(start); took != 300*time.Millisecond {
			t.Errorf("16 healthy peers took %v beside 40 hung ones, want 300ms as without them", took)
		}
		if s := r.Stats(); s.Hung != 4 {
			t.Errorf("%d rounds of hung peers run, want a quarter of the 16 places", s.Hung)
		}
	})
}

func TestARoundThatBecomesSlowGivesItsPlaceAway(t *testing.T) {
	inRunner(t, RunnerOptions{Rounds: 2, SlowAfter: 5 * time.Second, Run: func(ctx context.Context, _ Env, j Job) Report {
		if j.Target.Key != "quick" {
			<-ctx.Done()
		}
		return wentWell(j)
	}}, func(t *testing.T, r *Runner, _ func() error) {
		r.Submit(jobOf("slow1", "http://slow1", 1))
		r.Submit(jobOf("slow2", "http://slow2", 1))
		r.Submit(jobOf("quick", "http://quick", 1))
		time.Sleep(4 * time.Second)
		if _, ok := r.Report("quick"); ok {
			t.Fatal("three rounds ran in two places")
		}
		time.Sleep(time.Second + time.Millisecond)
		if _, ok := r.Report("quick"); !ok {
			t.Error("the quick peer still waits although both others are slow")
		}
	})
}

func TestAPanickingRoundReportsThatItWasOurFault(t *testing.T) {
	inRunner(t, RunnerOptions{Run: func(context.Context, Env, Job) Report { panic("boom") }}, func(t *testing.T, r *Runner, _ func() error) {
		r.Submit(jobOf("a", "http://a", 3))
		synctest.Wait()
		rep, ok := r.Report("a")
		if !ok {
			t.Fatal("no report of the round that panicked")
		}
		if rep.Round.Number != 3 || rep.Round.Reach.Outcome != trust.Inconclusive || rep.Round.Reach.Reason != trust.ReasonPanicked {
			t.Errorf("got round %d, %s %s, want round 3, Inconclusive ProbePanicked", rep.Round.Number, rep.Round.Reach.Outcome, rep.Round.Reach.Reason)
		}
		if r.Busy("a") {
			t.Error("the peer stays busy after a panic")
		}
	})
}

func TestCancelAndForgetThrowTheReportAway(t *testing.T) {
	for name, drop := range map[string]func(*Runner, string){"cancel": (*Runner).Cancel, "forget": (*Runner).Forget} {
		t.Run(name, func(t *testing.T) {
			var cleaned atomic.Bool
			inRunner(t, RunnerOptions{Run: func(ctx context.Context, _ Env, j Job) Report {
				<-ctx.Done()
				cleaned.Store(true)
				return wentWell(j)
			}}, func(t *testing.T, r *Runner, _ func() error) {
				r.Submit(jobOf("a", "http://a", 1))
				synctest.Wait()
				drop(r, "a")
				synctest.Wait()
				if !cleaned.Load() {
					t.Error("the round was not told to end")
				}
				if _, ok := r.Report("a"); ok || len(drain(r)) > 0 {
					t.Error("a report came of a round that nobody wants")
				}
				if !r.Submit(jobOf("a", "http://a", 1)) {
					t.Error("the next round was refused")
				}
			})
		})
	}
}

func TestAQueuedRoundThatIsCanceledDoesNotBlockItsOrigin(t *testing.T) {
	inRunner(t, RunnerOptions{PerOrigin: 1, Run: func(_ context.Context, _ Env, j Job) Report {
		time.Sleep(time.Second)
		return wentWell(j)
	}}, func(t *testing.T, r *Runner, _ func() error) {
		for _, k := range []string{"a", "b", "c"} {
			r.Submit(jobOf(k, "http://one", 1))
		}
		r.Cancel("b")
		time.Sleep(2*time.Second + time.Millisecond)
		if _, ok := r.Report("c"); !ok {
			t.Error("c never ran: the canceled b held its origin's place")
		}
	})
}

func TestStopWaitsForRoundsToCleanUp(t *testing.T) {
	var cleaned atomic.Int64
	inRunner(t, RunnerOptions{Run: func(ctx context.Context, _ Env, j Job) Report {
		<-ctx.Done()
		time.Sleep(2 * time.Second) // cancels its tasks
		cleaned.Add(1)
		return wentWell(j)
	}}, func(t *testing.T, r *Runner, stop func() error) {
		for i := range 5 {
			r.Submit(jobOf(fmt.Sprint(i), fmt.Sprintf("http://h%d", i), 1))
		}
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if cleaned.Load() != 5 {
			t.Errorf("stopped after %d of 5 rounds had cleaned up", cleaned.Load())
		}
		if r.Submit(jobOf("late", "http://late", 1)) {
			t.Error("a stopped runner accepted a round")
		}
	})
}

func TestStopDoesNotWaitForEver(t *testing.T) {
	inRunner(t, RunnerOptions{StopTimeout: 3 * time.Second, Run: func(_ context.Context, _ Env, j Job) Report {
		time.Sleep(time.Hour)
		return wentWell(j)
	}}, func(t *testing.T, r *Runner, stop func() error) {
		r.Submit(jobOf("a", "http://a", 1))
		synctest.Wait()
		start := time.Now()
		if err := stop(); err == nil {
			t.Error("no error although a round did not end")
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("stopping took %v, want 3s", took)
		}
		time.Sleep(time.Hour) // let the round end within the bubble
	})
}
