package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress tells people what a check is waiting for. On a terminal it is one line that goes away, elsewhere one line per step.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	tty   bool
	words string
	since time.Time
	stop  chan struct{}
	ended bool
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, since: time.Now(), stop: make(chan struct{})}
	if f, ok := w.(*os.File); ok {
		p.tty = term.IsTerminal(int(f.Fd()))
	}
	if p.tty {
		go p.tick()
	}
	return p
}

// round yields what a round tells its steps to.
func (p *progress) round(n int64, of int) func(string) {
	return func(words string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ended {
			return
		}
		p.words = fmt.Sprintf("round %d of %d: %s", n, of, words)
		if p.tty {
			p.draw()
		} else {
			fmt.Fprintf(p.w, "%6s  %s\n", time.Since(p.since).Round(100*time.Millisecond), p.words)
		}
	}
}

func (p *progress) tick() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.mu.Lock()
			if !p.ended {
				p.draw()
			}
			p.mu.Unlock()
		case <-p.stop:
			return
		}
	}
}

// draw needs the lock.
func (p *progress) draw() {
	fmt.Fprintf(p.w, "\r\x1b[K%s  %s", time.Since(p.since).Round(time.Second), p.words)
}

// end wipes the line; it may be called twice.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	close(p.stop)
	if p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
