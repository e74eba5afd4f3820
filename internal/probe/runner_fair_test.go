package probe

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lasting runs rounds that last as long as the path of their URL says.
func lasting(ctx context.Context, _ Env, j Job) Report {
	d, err := time.ParseDuration(strings.TrimPrefix(j.Target.URL.Path, "/"))
	if err != nil {
		panic(err)
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	if strings.Contains(j.Target.Key, "hung") {
		return hangs(j)
	}
	return wentWell(j)
}

// finished says when the report of a peer came, since start; it takes over all reports until then.
func finished(r *Runner, start time.Time, key string) time.Duration {
	for k := range r.Wake() {
		if k == key {
			return time.Since(start)
		}
		rep, _ := r.Report(k)
		r.Done(k, rep.Round.Number)
	}
	return 0
}

func TestSecurityTenantsDoNotStarveEachOtherByACrowd(t *testing.T) {
	inRunner(t, RunnerOptions{Rounds: 8, Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		for i := range 5000 {
			r.Submit(jobOf(fmt.Sprint("crowd/", i), fmt.Sprintf("http://crowd%d/1s", i), 1))
		}
		start := time.Now()
		r.Submit(jobOf("other/one", "http://one/1s", 1))
		if took := finished(r, start, "other/one"); took > 2*time.Second {
			t.Errorf("a single peer took %v behind 5,000 of another namespace, want the next free place: at most 2s", took)
		}
	})
}

func TestSecurityTenantsDoNotStarveEachOtherByTakingTurnsUnevenly(t *testing.T) {
	inRunner(t, RunnerOptions{Rounds: 6, Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		for _, crowd := range []string{"a", "b", "c"} {
			for i := range 100 {
				r.Submit(jobOf(fmt.Sprint(crowd, "/", i), fmt.Sprintf("http://%s%d/1s", crowd, i), 1))
			}
		}
		time.Sleep(30*time.Second + time.Millisecond)
		served := map[string]int{}
		for _, key := range drain(r) {
			served[key[:1]]++
		}
		for crowd, n := range served {
			if n < 56 || n > 66 { // the first had all places for one turn
				t.Errorf("namespace %s had %d of 180 rounds, want a third", crowd, n)
			}
		}
	})
}

func TestSecurityTenantsDoNotStarveEachOtherBySlowness(t *testing.T) {
	inRunner(t, RunnerOptions{Rounds: 8, Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		for i := range 500 {
			r.Submit(jobOf(fmt.Sprint("slow/", i), fmt.Sprintf("http://slow%d/1h", i), 1))
		}
		time.Sleep(time.Minute)
		if got := r.Stats().Running; got != 8 {
			t.Errorf("%d rounds of one namespace are in flight, want a quarter of the 32", got)
		}
		start := time.Now()
		for i := range 8 {
			r.Submit(jobOf(fmt.Sprint("fine/", i), fmt.Sprintf("http://fine%d/300ms", i), 1))
		}
		for range 8 {
			<-r.Wake()
		}
		if took := time.Since(start); took != 300*time.Millisecond {
			t.Errorf("8 peers took %v beside another namespace's slow ones, want 300ms as without them", took)
		}
	})
}

func TestSecurityTenantsDoNotStarveEachOtherByPeersThatHang(t *testing.T) {
	inRunner(t, RunnerOptions{Rounds: 16, Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		const first, second = "a/hung", "b/hung"
		submit := func(prefix string, n, round int) {
			for i := range n {
				r.Submit(jobOf(fmt.Sprint(prefix, i), fmt.Sprintf("http://%s%d/90s", prefix[:1], i), int64(round)))
			}
		}
		submit(first, 50, 1)
		submit(second, 1, 1)
		time.Sleep(time.Hour)
		for _, k := range drain(r) {
			r.Done(k, 1)
		}
		submit(first, 50, 2)
		synctest.Wait()
		if got := r.Stats().Hung; got != 1 {
			t.Errorf("%d peers of one namespace fill the lane of the hung, want a quarter of its 4 places", got)
		}
		start := time.Now()
		submit(second, 1, 2)
		if took := finished(r, start, second+"0"); took != 90*time.Second {
			t.Errorf("another namespace's hung peer took %v, want the 90s that it hangs", took)
		}
	})
}

func TestSecurityTenantsDoNotStarveEachOtherAtAnOrigin(t *testing.T) {
	inRunner(t, RunnerOptions{Rounds: 64, PerOrigin: 2, Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		for i := range 1000 {
			r.Submit(jobOf(fmt.Sprint("crowd/", i), "http://shared/1s", 1))
		}
		time.Sleep(time.Second / 2)
		start := time.Now()
		r.Submit(jobOf("other/one", "http://shared/1s", 1))
		if took := finished(r, start, "other/one"); took > 2*time.Second {
			t.Errorf("a single peer took %v behind 1,000 of another namespace at the same origin, want its next free place: at most 2s", took)
		}
	})
}

func TestSecurityTenantsDoNotStarveEachOtherAtAnOriginThatAFullNamespaceWaitsFor(t *testing.T) {
	inRunner(t, RunnerOptions{Rounds: 4, PerOrigin: 1, Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		r.Submit(jobOf("full/first", "http://shared/4s", 1))
		r.Submit(jobOf("full/second", "http://shared/4s", 1))
		for i := range 3 {
			r.Submit(jobOf(fmt.Sprint("full/", i), fmt.Sprintf("http://slow%d/1h", i), 1))
		}
		r.Submit(jobOf("full/more", "http://more/1h", 1))
		start := time.Now()
		r.Submit(jobOf("other/one", "http://shared/1s", 1))
		if took := finished(r, start, "other/one"); took != 5*time.Second {
			t.Errorf("the origin was free after 4s, and the only namespace that may ask it took %v, want 5s", took)
		}
	})
}

func TestSecurityTenantsDoNotStarveEachOtherByRoundsThatStayAtASharedOrigin(t *testing.T) {
	inRunner(t, RunnerOptions{Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		for i := range 8 {
			r.Submit(jobOf(fmt.Sprint("evil/", i), "https://gateway.test/24h0m1s", 1))
		}
		for i := range 6 {
			time.Sleep(time.Second)
			start, key := time.Now(), fmt.Sprint("victim/", i)
			r.Submit(jobOf(key, "https://gateway.test/1s", 1))
			if took := finished(r, start, key); took > 6*time.Second {
				t.Errorf("peer %d behind the same gateway took %v, want at most SlowAfter (5s) and its own second", i, took)
			}
			bounds(t, r)
		}
		if got := r.Stats().Running; got != 4 {
			t.Errorf("%d rounds of one namespace are in flight at one origin, want its 4 places and no more", got)
		}
	})
}

func TestSecurityTenantsDoNotStarveEachOtherByHangingAtASharedOrigin(t *testing.T) {
	inRunner(t, RunnerOptions{Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		for round := range int64(2) {
			if round == 1 {
				time.Sleep(time.Minute)
				for _, key := range drain(r) {
					r.Done(key, 1)
				}
			}
			length := []string{"1s", "24h"}[round]
			for i := range 3 {
				r.Submit(jobOf(fmt.Sprint("evil/hung", i), "https://gateway.test/"+length, round+1))
			}
		}
		r.Submit(jobOf("victim/hung", "https://gateway.test/1s", 1))
		time.Sleep(time.Minute)
		drain(r)
		r.Done("victim/hung", 1)
		start := time.Now()
		r.Submit(jobOf("victim/hung", "https://gateway.test/90s", 2))
		if took := finished(r, start, "victim/hung"); took != 90*time.Second {
			t.Errorf("a peer that hangs took %v behind another namespace's at its origin, want its own 90s", took)
		}
	})
}

func TestSecurityTenantsDoNotStarveEachOtherButShareAnOriginByHalves(t *testing.T) {
	inRunner(t, RunnerOptions{Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		for i := range 100 {
			r.Submit(jobOf(fmt.Sprint("crowd/", i), "https://gateway.test/1s", 1))
			r.Submit(jobOf(fmt.Sprint("other/", i), "https://gateway.test/1s", 1))
		}
		served := 0
		for i := range 200 { // the other is served so often elsewhere that it is never its turn
			r.Submit(jobOf(fmt.Sprint("other/elsewhere", i), fmt.Sprintf("https://h%d.test/1ms", i), 1))
			time.Sleep(100 * time.Millisecond)
			for _, key := range drain(r) {
				if strings.HasPrefix(key, "other/") && !strings.Contains(key, "elsewhere") {
					served++
				}
			}
		}
		if served < 34 {
			t.Errorf("%d of the 80 rounds at an origin were of one of the two namespaces that wait for it, want about half", served)
		}
	})
}

func TestANamespaceThatIsAloneHasEveryPlace(t *testing.T) {
	inRunner(t, RunnerOptions{Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		for i := range 1500 {
			r.Submit(jobOf(fmt.Sprint("alone/", i), fmt.Sprintf("http://h%d/1s", i), 1))
		}
		synctest.Wait()
		if got := r.Stats().Running; got != 1024 {
			t.Errorf("%d rounds run, want all 1,024 places", got)
		}
	})
}

func TestAPeerThatIsDroppedAfterItsOriginCalledItBlocksNobody(t *testing.T) {
	inRunner(t, RunnerOptions{Rounds: 1, PerOrigin: 1, SlowAfter: time.Second, PerNamespace: 4, Run: lasting}, func(t *testing.T, r *Runner, _ func() error) {
		r.Submit(jobOf("a/slow", "http://shared/1500ms", 1)) // gives its place away, and keeps the origin
		r.Submit(jobOf("a/called", "http://shared/1s", 1))
		r.Submit(jobOf("a/after", "http://shared/1s", 1))
		time.Sleep(1100 * time.Millisecond)
		r.Submit(jobOf("b/busy", "http://elsewhere/10m", 1)) // takes the place that the slow one gave away
		time.Sleep(600 * time.Millisecond)
		r.Cancel("a/called")
		time.Sleep(10 * time.Minute)
		if _, ok := r.Report("a/after"); !ok {
			t.Error("a peer never ran: one that its origin had called was canceled before it had a place")
		}
	})
}

// bounds fails the test if more is in flight than may be.
func bounds(t *testing.T, r *Runner) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	namespaces, hungOf, origins := map[string]int{}, map[string]int{}, map[string]int{}
	ofOrigin, held := map[string]int{}, map[string]int{}
	var total, hung, young int
	for key, p := range r.peers {
		if p.cancel == nil {
			continue
		}
		name, _, _ := strings.Cut(key, "/")
		total++
		namespaces[name]++
		if p.lane == hungLane {
			hung++
			hungOf[name]++
		}
		if p.lane == mainLane && p.place {
			young++
		}
		origins[fmt.Sprint(p.origin, p.lane)]++
		ofOrigin[fmt.Sprint(p.origin, p.lane, name)]++
		if !p.aside {
			held[fmt.Sprint(p.origin, p.lane)]++
		}
	}
	check := func(what string, got, most int) {
		if got > most {
			t.Errorf("%s: %d rounds are in flight, want at most %d", what, got, most)
		}
	}
	check("in all", total, 4*r.opt.Rounds)
	check("young", young, r.opt.Rounds)
	check("hung", hung, r.opt.HungRounds)
	for name, n := range namespaces {
		check("namespace "+name, n, r.opt.PerNamespace)
		check("hung, namespace "+name, hungOf[name], r.lines.perNamespace[hungLane])
	}
	places := func(of string) int { // by the lane that the name ends in, before the namespace
		if strings.Contains(of, fmt.Sprint("test", hungLane)) {
			return 1
		}
		return r.opt.PerOrigin
	}
	for name, n := range origins {
		check("origin "+name, n, 2*places(name))
		check("origin "+name+", places held", held[name], places(name))
	}
	for name, n := range ofOrigin {
		check("origin and namespace "+name, n, places(name))
	}
}

func TestWhateverIsSubmittedRunsAndNoBoundIsExceeded(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		o := RunnerOptions{Rounds: 1 + rnd.IntN(8), HungRounds: 1 + rnd.IntN(4), PerOrigin: 1 + rnd.IntN(3), PerNamespace: 1 + rnd.IntN(10)}
		namespaces, origins := 1+rnd.IntN(6), 1+rnd.IntN(12)
		var runner *Runner
		o.Run = func(ctx context.Context, env Env, j Job) Report {
			bounds(t, runner)
			return lasting(ctx, env, j)
		}
		inRunner(t, o, func(t *testing.T, r *Runner, _ func() error) {
			runner = r
			ran, want := map[string]int64{}, map[string]int64{}
			take := func() {
				for _, k := range drain(r) {
					if rep, ok := r.Report(k); ok {
						ran[k] = rep.Round.Number
						r.Done(k, rep.Round.Number)
					}
				}
			}
			for step := range 400 {
				key := fmt.Sprintf("n%d/%s%d", rnd.IntN(namespaces), []string{"peer", "hung"}[rnd.IntN(2)], rnd.IntN(20))
				switch d := rnd.IntN(20); {
				case d == 0:
					r.Cancel(key)
					delete(want, key)
				case d == 1:
					r.Forget(key)
					delete(want, key)
				case d < 4:
					time.Sleep(time.Duration(rnd.IntN(4000)) * time.Millisecond)
					take()
				default:
					url := fmt.Sprintf("http://o%d.test/%dms", rnd.IntN(origins), 1+rnd.IntN(12_000))
					if r.Submit(jobOf(key, url, int64(step+1))) {
						want[key] = int64(step + 1)
					}
				}
			}
			time.Sleep(24 * time.Hour)
			take()
			for key, round := range want {
				if ran[key] != round {
					t.Errorf("seed %d, %+v: round %d of %s never ran, the last was %d", seed, o, round, key, ran[key])
				}
			}
			if s := r.Stats(); s.Queued+s.Running != 0 {
				t.Errorf("seed %d: %d rounds wait and %d run after a day", seed, s.Queued, s.Running)
			}
			for key := range r.peers {
				r.Forget(key)
			}
			if l := &r.lines; len(l.namespaces)+len(l.origins)+len(l.ready[0].list)+len(l.ready[1].list) != 0 {
				t.Errorf("seed %d: something is kept of peers that are gone: %d namespaces, %d origins", seed, len(l.namespaces), len(l.origins))
			}
		})
	}
}
