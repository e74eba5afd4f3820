package client

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// reportAPI is what a Reporter asks of the API server.
type reportAPI interface {
	// whoami tells as whom the API server knows this process; *NotServiceAccountError if that is no ServiceAccount.
	whoami(ctx context.Context) (v1alpha1.Reporter, error)
	// write creates the report, or brings it up to date.
	write(ctx context.Context, report *v1alpha1.AgentPeerReport) error
}

// introduce finds out who this process is, however often it has to ask. False: it is nobody who could report, or the context ended.
func (r *Reporter) introduce(ctx context.Context) (v1alpha1.Reporter, bool) {
	for fails := 0; ; fails++ {
		asking, cancel := context.WithTimeout(ctx, reportTimeout)
		by, err := r.api.whoami(asking)
		cancel()
		if err == nil {
			return by, true
		}
		if ctx.Err() != nil {
			return v1alpha1.Reporter{}, false
		}
		var nobody *NotServiceAccountError
		lasts := errors.As(err, &nobody)
		r.failed(err, "finding out who reports")
		if lasts {
			r.close()
			return v1alpha1.Reporter{}, false
		}
		select {
		case <-ctx.Done():
			return v1alpha1.Reporter{}, false
		case <-time.After(growing(time.Second, fails, time.Minute)):
		}
	}
}

// A reportJob is a report on its way, and what its peer was like before.
type reportJob struct {
	report           *v1alpha1.AgentPeerReport
	peer             *seenPeer
	changed, written time.Time
	urgent           bool
}

// work writes what is due, one report after another, until the context ends.
func (r *Reporter) work(ctx context.Context, by v1alpha1.Reporter) {
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	for ctx.Err() == nil {
		job, wait := r.next(by)
		if job != nil {
			r.write(ctx, job)
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C:
		}
	}
}

// flush writes all that is not written yet and did not fail before, until the context ends.
func (r *Reporter) flush(ctx context.Context, by v1alpha1.Reporter) {
	for ctx.Err() == nil {
		job := r.left(by)
		if job == nil {
			return
		}
		r.write(ctx, job)
	}
}

// next takes the report that is due longest, first divergences before all; if none is due, it says how long to wait.
func (r *Reporter) next(by v1alpha1.Reporter) (*reportJob, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.forget(now)
	var first *seenPeer
	wait := longestWait
	for _, p := range r.peers {
		if p.changed.IsZero() {
			continue
		}
		if in := r.due(p).Sub(now); in > 0 {
			wait = min(wait, in)
			continue
		}
		if first == nil || p.urgent && !first.urgent || p.urgent == first.urgent && r.due(p).Before(r.due(first)) {
			first = p
		}
	}
	if first == nil {
		return nil, wait
	}
	return r.take(first, by, now), 0
}

// left takes a report that is not written yet, first divergences before all.
func (r *Reporter) left(by v1alpha1.Reporter) *reportJob {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *seenPeer
	for _, p := range r.peers {
		if !p.changed.IsZero() && p.fails == 0 && (first == nil || p.urgent && !first.urgent) {
			first = p
		}
	}
	if first == nil {
		return nil
	}
	return r.take(first, by, r.now())
}

// due is when what is not written of a peer is to be written.
func (r *Reporter) due(p *seenPeer) time.Time {
	switch {
	case p.urgent:
		return later(p.changed, p.hold)
	case p.written.IsZero():
		return later(p.changed.Add(r.interval+p.jitter), p.hold)
	}
	return later(p.written.Add(r.interval+p.jitter), p.hold)
}

// take makes the report of a peer, which then counts as written: what is seen while it is on its way is for the next.
func (r *Reporter) take(p *seenPeer, by v1alpha1.Reporter, now time.Time) *reportJob {
	job := &reportJob{report: r.report(p, by, now), peer: p, changed: p.changed, written: p.written, urgent: p.urgent}
	p.changed, p.urgent, p.written = time.Time{}, false, now
	return job
}

func (r *Reporter) write(ctx context.Context, job *reportJob) {
	writing, cancel := context.WithTimeout(ctx, reportTimeout)
	err := r.api.write(writing, job.report)
	cancel()
	p := job.peer
	r.mu.Lock()
	if err == nil {
		p.fails, p.hold = 0, time.Time{}
		r.stats.Written++
		r.stats.Err = nil
		r.mu.Unlock()
		return
	}
	p.changed, p.written, p.urgent = job.changed, job.written, p.urgent || job.urgent
	if ctx.Err() != nil { // told to stop meanwhile, which is no fault
		r.mu.Unlock()
		return
	}
	p.fails++
	p.hold = r.now().Add(r.backoff(err, p.fails))
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		p.salt = rand.Text() // perhaps somebody else's object has the name
	}
	r.mu.Unlock()
	r.failed(err, "writing what was seen of AgentPeer "+p.peer.String())
}

// backoff is how long to leave a report alone that could not be written so many times in a row. A refusal is looked at again soon, once,
// under another name; after that only somebody who changes a role or installs a CRD can help.
func (r *Reporter) backoff(err error, fails int) time.Duration {
	if !refused(err) {
		return growing(firstRetry, fails-1, r.interval)
	}
	if fails == 1 {
		return firstRetry
	}
	return growing(r.interval, fails-2, MaxReportInterval)
}

func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err)
}

// growing doubles a time so often, up to a most.
func growing(first time.Duration, doublings int, most time.Duration) time.Duration {
	if doublings > 16 {
		return most
	}
	return min(first<<doublings, most)
}

// failed counts a failure, and says it once for each kind.
func (r *Reporter) failed(err error, doing string) {
	kind, hint := "other", "it is tried again"
	var nobody *NotServiceAccountError
	switch {
	case errors.As(err, &nobody):
		kind, hint = "nobody", "nothing is reported"
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		kind, hint = "forbidden", "bind the ClusterRole agentpeer-orchestrator to the ServiceAccount of this process"
	case apierrors.IsNotFound(err):
		kind, hint = "absent", "apply config/crd: the API server does not know AgentPeerReports, or the namespace is gone"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		kind, hint = "invalid", "the CRD of AgentPeerReports is older or newer than this program"
	}
	r.mu.Lock()
	r.stats.Failed++
	r.stats.Err = err
	before := r.said[kind]
	r.said[kind] = true
	r.mu.Unlock()
	if !before {
		r.log.Error(err, "nothing is held up by it, but reports are missing", "doing", doing, "hint", hint)
	}
}
