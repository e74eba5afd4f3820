package wire

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Bounds of the bytes in flight.
const (
	bytesInFlight = 256 << 20 // of a process, the default
	roundBytes    = 12 << 20  // of one client and those made of it, which are one round
	freeBytes     = 64 << 10  // of each exchange, which count for nothing: an ordinary peer never meets the bound
	drawStep      = 64 << 10  // how much is drawn and given back at once
	drawPatience  = 3 * time.Second
)

// budget bounds the bytes of answers that are held while they come: whoever sends megabytes and then a byte now and then could else make
// each round hold them for as long as it lasts, and a few dozen rounds the memory of the process. No tenant holds more than half.
type budget struct {
	limit int64

	mu      sync.Mutex
	held    int64
	tenants map[string]int64 // what each holds; none is 0
	freed   chan struct{}    // closed when something is given back; nil while nobody waits
}

func newBudget(limit int64) *budget { return &budget{limit: limit, tenants: map[string]int64{}} }

// purse is what one round holds of a budget.
type purse struct {
	of     *budget
	tenant string // empty: it is alone in the process
	held   int64
}

func (b *budget) purse(tenant string) *purse { return &purse{of: b, tenant: tenant} }

// draw takes n more bytes, or gives back -n. If they are not to be had, wait is closed once it is worth another try.
func (p *purse) draw(n int64) (wait <-chan struct{}) {
	b := p.of
	b.mu.Lock()
	defer b.mu.Unlock()
	share := b.limit
	if p.tenant != "" {
		share /= 2
	}
	if n > 0 && (p.held+n > roundBytes || b.tenants[p.tenant]+n > share || b.held+n > b.limit) {
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		return b.freed
	}
	p.held += n
	b.held += n
	if b.tenants[p.tenant] += n; b.tenants[p.tenant] == 0 {
		delete(b.tenants, p.tenant)
	}
	if n < 0 && b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
	return nil
}

// holding is what one exchange holds. Its methods are those of the one goroutine that reads the answer. A nil holding counts nothing.
type holding struct {
	purse *purse
	ctx   context.Context
	// patience is for how long, in all, it may still wait until others give bytes back.
	patience time.Duration
	held     int64
	queued   int // of events that wait to be taken, and are not in what keep is told
	over     bool
}

func (p *purse) open(ctx context.Context) *holding {
	return &holding{purse: p, ctx: ctx, patience: drawPatience}
}

// keep says how many bytes of the answer are held now, before memory is made for them. It waits if others hold too many, and fails with
// errBusy if they go on to.
func (h *holding) keep(total int) error {
	if h == nil || h.over {
		return nil
	}
	want := max(int64(total+h.queued)-freeBytes, 0)
	want = (want + drawStep - 1) / drawStep * drawStep
	if want == h.held {
		return nil
	}
	wait := h.purse.draw(want - h.held)
	if wait != nil {
		if err := h.await(wait, want-h.held); err != nil {
			return err
		}
	}
	h.held = want
	return nil
}

// await draws again whenever something was given back.
func (h *holding) await(wait <-chan struct{}, n int64) error {
	if h.patience <= 0 {
		return errBusy
	}
	began := time.Now()
	defer func() { h.patience -= time.Since(began) }()
	over := time.NewTimer(h.patience)
	defer over.Stop()
	for wait != nil {
		select {
		case <-wait:
			wait = h.purse.draw(n)
		case <-over.C:
			return errBusy
		case <-h.ctx.Done():
			if errors.Is(h.ctx.Err(), context.Canceled) && !errors.Is(context.Cause(h.ctx), errStalled) {
				return h.ctx.Err()
			}
			return errBusy // it was us who did not go on
		}
	}
	return nil
}

// hurry has it never wait: of a stream it is evidence when what comes.
func (h *holding) hurry() {
	if h != nil {
		h.patience = 0
	}
}

// queue counts one more event of a stream where n wait already.
func (h *holding) queue(n int, e Event) {
	if h == nil {
		return
	}
	if n == 0 {
		h.queued = 0
	}
	h.queued += len(e.TaskID) + len(e.Correlation) + len(e.ContextID) + len(e.MessageID) + len(e.RawState) + len(e.ConfigID) + len(e.Card)
}

// release gives everything back. It may be called more than once.
func (h *holding) release() {
	if h == nil {
		return
	}
	h.queued = 0
	_ = h.keep(0)
	h.over = true
}

// readAll reads all that comes. room is how much is likely to come, and beside what the caller holds of the same answer.
func (h *holding) readAll(in io.Reader, room, beside int) ([]byte, error) {
	b := make([]byte, 0, min(max(room, 512), freeBytes))
	for {
		n, err := in.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case atEnd(err):
			return b, nil
		case err != nil:
			return b, err
		case len(b) < cap(b):
			continue
		}
		size := min(2*cap(b), freeBytes)
		if cap(b) >= freeBytes {
			size = (cap(b) + cap(b)/4 + drawStep) / drawStep * drawStep
		}
		if err := h.keep(beside + size); err != nil {
			return b, err
		}
		b = append(make([]byte, 0, size), b...)
	}
}

// countedBody is the body of an answer. Closing it gives back what the exchange holds.
type countedBody struct {
	io.ReadCloser
	bytes *holding
}

func (b countedBody) Close() error {
	defer b.bytes.release()
	return b.ReadCloser.Close()
}
