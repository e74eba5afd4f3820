package probe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// RunnerOptions size a Runner. Zero fields take the defaults named.
type RunnerOptions struct {
	// Run runs one round; Run of this package unless a test injects another.
	Run func(context.Context, Env, Job) Report
	Env Env
	// Rounds is how many rounds may be young (below SlowAfter) at once; 1024. Four times as many may be in flight in all.
	Rounds int
	// HungRounds is how many rounds may run at once of peers whose last round hung; a quarter of Rounds.
	HungRounds int
	// PerOrigin is how many rounds may be young at once against one origin; 4. Peers that hung get one place of their own. No namespace has more
	// than half of them (rounded up) while another waits for that origin, and no more than PerOrigin in flight there. A round older than SlowAfter
	// gives its place to another namespace that waits: at most twice PerOrigin are in flight.
	PerOrigin int
	// PerNamespace is how many rounds of one namespace may be in flight at once in all, those that became slow and those of peers that hung
	// included; a quarter of all that may be in flight, which is as many as Rounds. Of the HungRounds it gets the same share.
	PerNamespace int
	// SlowAfter is the age at which a round gives its place to the next peer and goes on beside it; 5 s.
	SlowAfter time.Duration
	// StopTimeout bounds how long Start waits for rounds to cancel their tasks after its context has ended; 20 s.
	StopTimeout time.Duration
	Log         logr.Logger
}

// Runner runs rounds in the background: bounded, one per peer, a few per origin, a share per namespace. It keeps each report until it is
// taken over (Done) and starts no new round of that peer before. It owns no schedule: whoever submits decides when. Safe for concurrent use.
type Runner struct {
	opt  RunnerOptions
	wake chan string

	mu      sync.Mutex
	ctx     context.Context // of Start; nil before
	stopped bool
	peers   map[string]*runnerPeer
	lines   lines
	places  [2]int // held, by lane
	total   int
	last    time.Time
	rounds  sync.WaitGroup
}

// laneID tells the lane of peers that answer from the lane of those that hung the last time.
type laneID int

const (
	mainLane laneID = iota
	hungLane
)

// runnerPeer is what the Runner knows of one peer.
type runnerPeer struct {
	job       Job
	namespace *namespace
	origin    string
	lane      laneID             // of the round queued or running
	hung      bool               // whether the last round hung
	queued    spot               // where the round waits
	cancel    context.CancelFunc // of the round running; nil if none
	place     bool               // whether that round still holds a place of its lane
	slow      bool               // whether that round is older than SlowAfter
	aside     bool               // whether that round gave up its place at its origin
	wants     bool               // whether the round queued had to wait for its origin
	report    *Report            // finished and not yet taken over
	dropped   bool               // forgotten or canceled: throw the report away
	gone      bool               // forgotten: nothing of it is kept once its round has ended
}

// NewRunner makes a Runner. It runs nothing until Start.
func NewRunner(o RunnerOptions) *Runner {
	if o.Run == nil {
		o.Run = Run
	}
	if o.Rounds <= 0 {
		o.Rounds = 1024
	}
	if o.HungRounds <= 0 {
		o.HungRounds = max(1, o.Rounds/4)
	}
	if o.PerOrigin <= 0 {
		o.PerOrigin = 4
	}
	if o.PerNamespace <= 0 {
		o.PerNamespace = o.Rounds
	}
	if o.SlowAfter <= 0 {
		o.SlowAfter = 5 * time.Second
	}
	if o.StopTimeout <= 0 {
		o.StopTimeout = 20 * time.Second
	}
	share := (o.HungRounds*o.PerNamespace + inFlight*o.Rounds - 1) / (inFlight * o.Rounds)
	return &Runner{
		opt:   o,
		wake:  make(chan string, 1024),
		peers: map[string]*runnerPeer{},
		lines: newLines([2]int{o.PerOrigin, 1}, [2]int{o.PerNamespace, share}),
	}
}

// inFlight is how many rounds may be in flight for each that may be young.
const inFlight = 4

// Wake carries the key of each peer whose report is ready. A key may come twice, or after its report was taken over.
func (r *Runner) Wake() <-chan string { return r.wake }

// NeedLeaderElection says that only the leader runs rounds.
func (r *Runner) NeedLeaderElection() bool { return true }

// Start runs what is submitted until ctx ends. Then it cancels every round, waits (at most StopTimeout) until each has canceled the
// tasks it began, and returns, so that a lease held meanwhile is released only after.
func (r *Runner) Start(ctx context.Context) error {
	r.mu.Lock()
	if r.ctx != nil {
		r.mu.Unlock()
		return errors.New("starting the runner: it was started before")
	}
	r.ctx = ctx
	r.dispatch()
	r.mu.Unlock()

	<-ctx.Done()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()

	ended := make(chan struct{})
	go func() { r.rounds.Wait(); close(ended) }()
	timeout := time.NewTimer(r.opt.StopTimeout)
	defer timeout.Stop()
	select {
	case <-ended:
		return nil
	case <-timeout.C:
		return fmt.Errorf("stopping rounds: some did not end within %s", r.opt.StopTimeout)
	}
}

// Submit hands in a job and returns at once. It is false, and nothing happens, while a round of that peer waits, runs, or has left a
// report that nobody took over, and once the Runner stops: ask again later.
func (r *Runner) Submit(job Job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	p := r.peers[job.Target.Key]
	if p == nil {
		p = &runnerPeer{namespace: r.lines.enter(job.Target.Key)}
		r.peers[job.Target.Key] = p
	}
	if p.queued.waits() || p.cancel != nil || p.report != nil {
		return false
	}
	p.job, p.origin, p.dropped = job, originOf(job.Target.URL), false
	p.lane = mainLane
	if p.hung {
		p.lane = hungLane
	}
	r.lines.join(p)
	r.dispatch()
	return true
}

// Report returns the finished report of a peer. It stays until Done.
func (r *Runner) Report(key string) (Report, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.peers[key]; p != nil && p.report != nil {
		return *p.report, true
	}
	return Report{}, false
}

// Done takes over the report of a round, so that the next may be submitted. Another round's report stays.
func (r *Runner) Done(key string, round int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.peers[key]; p != nil && p.report != nil && p.report.Round.Number == round {
		p.report = nil
	}
}

// Busy says whether a round of the peer waits or runs.
func (r *Runner) Busy(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.peers[key]
	return p != nil && (p.queued.waits() || p.cancel != nil)
}

// Cancel ends the round of a peer that waits or runs, and throws its report away. A running round still cancels the tasks it began.
func (r *Runner) Cancel(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.peers[key]; p != nil {
		r.drop(p)
	}
}

// Forget is Cancel for a peer that is gone: nothing of it is kept.
func (r *Runner) Forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.peers[key]; p != nil {
		r.drop(p)
		delete(r.peers, key)
		if p.gone = true; p.cancel == nil {
			r.lines.depart(p.namespace)
		}
	}
}

// drop needs the lock.
func (r *Runner) drop(p *runnerPeer) {
	p.report = nil
	if p.queued.waits() {
		r.lines.quit(p)
		r.dispatch()
	}
	if p.cancel != nil {
		p.dropped = true
		p.cancel()
	}
}

// Stats is a snapshot of the Runner's load.
type Stats struct {
	// Queued rounds wait for a place, Running ones have been started (Hung: of peers whose last round hung).
	Queued, Running, Hung int
	// Reports wait to be taken over.
	Reports int
	// LastSuccess is when a round last reached its peer; zero if none has.
	LastSuccess time.Time
}

// Stats counts.
func (r *Runner) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{LastSuccess: r.last}
	for _, p := range r.peers {
		switch {
		case p.queued.waits():
			s.Queued++
		case p.cancel != nil:
			s.Running++
			if p.lane == hungLane {
				s.Hung++
			}
		}
		if p.report != nil {
			s.Reports++
		}
	}
	return s
}

// dispatch starts what may start. It needs the lock.
func (r *Runner) dispatch() {
	if r.ctx == nil || r.stopped {
		return
	}
	limit := [2]int{r.opt.Rounds, r.opt.HungRounds}
	for _, id := range []laneID{mainLane, hungLane} {
		for r.places[id] < limit[id] && r.total < inFlight*r.opt.Rounds {
			p := r.lines.next(id)
			if p == nil {
				break
			}
			r.places[id]++
			r.start(p)
		}
	}
}

// start needs the lock.
func (r *Runner) start(p *runnerPeer) {
	ctx, cancel := context.WithCancel(r.ctx)
	p.cancel, p.place = cancel, true
	r.total++
	r.rounds.Add(1)
	go r.round(ctx, p, p.job)
}

// round runs one round and stores its report, then says so. The place is free before the key is sent.
func (r *Runner) round(ctx context.Context, p *runnerPeer, job Job) {
	defer r.rounds.Done()
	slow := time.AfterFunc(r.opt.SlowAfter, func() { r.release(p, job) })
	report := r.run(ctx, job)
	slow.Stop()

	if !r.finish(p, job, report) {
		return
	}
	select {
	case r.wake <- job.Target.Key:
	case <-r.ctx.Done():
	}
}

// release gives the place of a round that has become slow to the next peer, and that at its origin to another namespace; the round goes on.
func (r *Runner) release(p *runnerPeer, job Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.cancel == nil || p.job.Round != job.Round {
		return
	}
	r.lines.slowed(p)
	if p.place && p.lane == mainLane { // in the lane of the hung a place is a place: that is what bounds them
		p.place = false
		r.places[p.lane]--
	}
	r.dispatch()
}

// finish stores the report and frees what the round held. It is false if nobody wants the report any more.
func (r *Runner) finish(p *runnerPeer, job Job, report Report) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.cancel()
	p.cancel = nil
	r.total--
	if p.place {
		p.place = false
		r.places[p.lane]--
	}
	r.lines.ended(p)
	p.job = Job{} // a peer at rest keeps neither its credentials nor its certificates
	wanted := !p.dropped && r.ctx.Err() == nil
	if wanted {
		p.hung = hung(report)
		p.report = &report
		if report.Round.Reach.Outcome == trust.Honored {
			r.last = report.Round.Finished
		}
	}
	r.dispatch()
	return wanted
}

// run runs the round; a panic becomes a report that says so.
func (r *Runner) run(ctx context.Context, job Job) (report Report) {
	started := time.Now()
	defer func() {
		if v := recover(); v != nil {
			r.opt.Log.Error(fmt.Errorf("round panicked: %v", v), "Recovered", "peer", job.Target.Key, "round", job.Round, "stack", string(debug.Stack()))
			report = Report{Key: job.Target.Key, Target: job.Target.ID, Generation: job.Generation, Round: trust.Round{
				Number: job.Round, Kind: job.Kind, Started: started, Finished: time.Now(), Asked: job.Ask,
				Reach: trust.Observation{Outcome: trust.Inconclusive, Reason: trust.ReasonPanicked,
					Message: "the round failed by a fault of the operator; see its log"},
			}}
		}
	}()
	return r.opt.Run(ctx, r.opt.Env, job)
}

// hung says whether a round kept us waiting for nothing, so that the next one waits in the lane of its like.
func hung(report Report) bool {
	if report.Round.Reach.Outcome != trust.Honored && waits(report.Round.Reach.Reason) {
		return true
	}
	for _, o := range report.Round.Observations {
		if o.Outcome == trust.Inconclusive && waits(o.Reason) {
			return true
		}
	}
	return false
}

func waits(r trust.Reason) bool {
	switch r {
	case trust.ReasonUnreachable, trust.ReasonProbeDeadlineExceeded, trust.ReasonNoFirstEvent, trust.ReasonStuck:
		return true
	}
	return false
}

// originOf is the origin of a URL, empty for none.
func originOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return wire.Origin(u)
}
