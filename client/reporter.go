package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// Bounds of a Reporter.
const (
	// DefaultReportInterval is ReporterOptions.Interval if unset, between MinReportInterval and MaxReportInterval.
	DefaultReportInterval = 5 * time.Minute
	MinReportInterval     = time.Minute
	MaxReportInterval     = time.Hour
	// DefaultReportWindow is ReporterOptions.Window if unset, up to MaxReportWindow.
	DefaultReportWindow = 15 * time.Minute
	MaxReportWindow     = 24 * time.Hour
	// MaxReportedPeers is how many peers a Reporter keeps in mind. What is seen of more is dropped, and counted.
	MaxReportedPeers = 4096

	forgetAfter        = time.Hour        // without anything seen of a peer
	reportTimeout      = 10 * time.Second // of one write
	reportFlushTimeout = 5 * time.Second  // of all writes when the reporter is stopped
	longestWait        = 10 * time.Minute // between two looks at what to forget
	firstRetry         = 10 * time.Second // after a write that failed
)

// ReporterOptions adjust a Reporter. The zero value is good.
type ReporterOptions struct {
	// Interval is how often a report is brought up to date at most, from MinReportInterval to MaxReportInterval. Default
	// DefaultReportInterval. The first divergence of a capability is told at once.
	Interval time.Duration
	// Window is what a report counts: what was seen within so long before it was written. From Interval to MaxReportWindow. Default
	// DefaultReportWindow, or Interval if that is longer.
	Window time.Duration
	// Log is told, once each, why nothing can be reported. Default: nobody.
	Log logr.Logger
	// Clock tells the time. Default time.Now.
	Clock func() time.Time
}

// Reporter writes what this process sees of peers into AgentPeerReports, one for each peer, in the namespace of its AgentPeer and under
// the ServiceAccount, and the pod, that the API server knows this process as. The ClusterRole agentpeer-orchestrator has the rights.
//
// A report is written at once when a capability diverges for the first time within the window, and else at most every interval, however
// much goes wrong and right. It counts what was seen within the window and names the last divergences; it is owned by its AgentPeer, so it
// goes with it.
//
// Nothing here holds up a caller or fails it. Where reports cannot be written (no right, no CRD, an API server that does not answer), that
// is logged once, counted in Stats, and tried again ever more rarely. Make one with NewReporter; it is safe for any number of goroutines.
type Reporter struct {
	interval, window time.Duration
	log              logr.Logger
	now              func() time.Time
	api              reportAPI
	host             string
	wake             chan struct{} // has room for one

	mu      sync.Mutex
	started bool
	off     bool // nothing is taken any more
	peers   map[types.UID]*seenPeer
	swept   time.Time
	said    map[string]bool
	stats   ReporterStats
}

// ReporterStats counts what became of what a Reporter was told.
type ReporterStats struct {
	// Peers of which something was seen lately.
	Peers int
	// Written is how many times a report was written, Failed how many times it could not be.
	Written, Failed uint64
	// Dropped is how many sightings were not taken: incomplete, older than the window, of one peer too many, or without an end to report to.
	Dropped uint64
	// Err is why the last write failed; nil if it did not. A *NotServiceAccountError lasts.
	Err error
}

// NewReporter makes a Reporter that writes as config says who it is. It asks nothing yet: Start does.
func NewReporter(config *rest.Config, o ReporterOptions) (*Reporter, error) {
	r, err := newReporter(o)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return nil, errors.New("making a reporter: no rest.Config; use rest.InClusterConfig or that of your kubeconfig")
	}
	if r.api, err = newReportClient(config); err != nil {
		return nil, fmt.Errorf("making a reporter: %w", err)
	}
	return r, nil
}

func newReporter(o ReporterOptions) (*Reporter, error) {
	r := &Reporter{
		interval: o.Interval, window: o.Window, log: o.Log, now: o.Clock, wake: make(chan struct{}, 1),
		peers: map[types.UID]*seenPeer{}, said: map[string]bool{},
	}
	if r.interval == 0 {
		r.interval = DefaultReportInterval
	}
	if r.interval < MinReportInterval || r.interval > MaxReportInterval {
		return nil, fmt.Errorf("making a reporter: Interval is %s, must be from %s to %s, or 0 for %s",
			o.Interval, MinReportInterval, MaxReportInterval, DefaultReportInterval)
	}
	if r.window == 0 {
		r.window = max(DefaultReportWindow, r.interval)
	}
	if r.window < r.interval || r.window > MaxReportWindow {
		return nil, fmt.Errorf("making a reporter: Window is %s, must be from Interval (%s) to %s, or 0 for %s",
			o.Window, r.interval, MaxReportWindow, DefaultReportWindow)
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.host, _ = os.Hostname() // without one, processes without a pod share a report
	return r, nil
}

// Observe takes what was seen of a peer. It does no I/O and never waits for any; after Start has returned it does nothing.
func (r *Reporter) Observe(s Sighting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if s.Time.IsZero() || s.Time.After(now) {
		s.Time = now
	}
	if r.off || !s.complete() || r.number(s.Time) < r.oldest(now) {
		r.stats.Dropped++
		return
	}
	p := r.peers[s.UID]
	if p == nil {
		if len(r.peers) >= MaxReportedPeers {
			r.forget(now)
		}
		if len(r.peers) >= MaxReportedPeers {
			r.stats.Dropped++
			return
		}
		p = &seenPeer{
			peer: s.Peer, uid: s.UID, target: s.Target, claims: s.ClaimsDigest, since: s.Time, counts: map[v1alpha1.CapabilityName]*tally{},
			alarmed: map[alarm]time.Time{}, jitter: rand.N(r.interval / 10), //nolint:gosec // spreads load, hides nothing
		}
		r.peers[s.UID] = p
	}
	clean := p.changed.IsZero()
	urgent := r.count(p, s, now)
	p.urgent = p.urgent || urgent
	if clean || urgent {
		r.poke()
	}
}

func (r *Reporter) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// forget drops peers of which nothing was seen for long. It looks at most once a minute: every Observe may call it.
func (r *Reporter) forget(now time.Time) {
	if now.Sub(r.swept) < time.Minute {
		return
	}
	r.swept = now
	for uid, p := range r.peers {
		if now.Sub(p.last) > forgetAfter {
			delete(r.peers, uid)
		}
	}
}

// Start asks the API server who this process is, and writes reports until the context ends; then it writes what is left, for 5 seconds at
// most, and returns nil. Where the process is no ServiceAccount there is nothing that it could write: it says so once and waits for
// the end of the context; Stats has the error, a *NotServiceAccountError. Start a Reporter once.
func (r *Reporter) Start(ctx context.Context) error {
	r.mu.Lock()
	again := r.started
	r.started = true
	r.mu.Unlock()
	if again {
		return errors.New("starting a reporter: it was started before; make another one")
	}
	defer r.close()
	by, known := r.introduce(ctx)
	if !known {
		<-ctx.Done()
		return nil
	}
	r.work(ctx, by)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportFlushTimeout)
	defer cancel()
	r.flush(last, by)
	return nil
}

// NeedLeaderElection tells a controller-runtime manager that every replica reports for itself.
func (r *Reporter) NeedLeaderElection() bool { return false }

// Stats tells what became of what the reporter was told.
func (r *Reporter) Stats() ReporterStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.stats
	out.Peers = len(r.peers)
	return out
}

func (r *Reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.off = true
	clear(r.peers)
}
