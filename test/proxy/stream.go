package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// errReset makes the reverse proxy break the connection.
var errReset = errors.New("reset by the proxy")

// piece is one part of a stream: an event of SSE with its blank line, or whatever a gRPC stream was read as.
type piece struct {
	data []byte
	at   time.Time
	err  error
}

// spoil passes a stream on as the fault says.
func (p *Proxy) spoil(r *http.Response, x *passage) io.ReadCloser {
	s := &stream{
		fault: x.fault, from: r.Body, begun: time.Now(), pieces: make(chan piece, 4096), done: make(chan struct{}),
		rename: func(b []byte) []byte { return b },
	}
	if x.fault.Rewrite != "" && !x.call.grpc {
		each := fresh{}
		s.rename = func(b []byte) []byte { return p.names.rename(b, x.call.id, x.fault.Rewrite, each) }
	}
	if x.fault.Lag > 0 {
		s.seen = func(b []byte) { p.past.follow(b, x) }
	}
	go s.pump(x.call.grpc)
	return s
}

// stream is the body of a stream on its way to the client.
type stream struct {
	fault  Fault
	from   io.ReadCloser
	begun  time.Time
	pieces chan piece
	done   chan struct{}
	closed sync.Once
	rename func([]byte) []byte
	seen   func([]byte)
	events int
	last   time.Time
	held   bytes.Buffer
	err    error
}

// pump reads the peer's stream piece by piece.
func (s *stream) pump(raw bool) {
	in := bufio.NewReaderSize(s.from, 64<<10)
	for {
		data, err := next(in, raw)
		if s.seen != nil {
			s.seen(data)
		}
		if !s.put(piece{data: data, at: time.Now()}) || err != nil && !s.put(piece{at: time.Now(), err: err}) || err != nil {
			return
		}
	}
}

func (s *stream) put(p piece) bool {
	if len(p.data) == 0 && p.err == nil {
		return true
	}
	select {
	case s.pieces <- p:
		return true
	case <-s.done:
		return false
	}
}

// next reads up to the end of an event, or what there is.
func next(in *bufio.Reader, raw bool) ([]byte, error) {
	if raw {
		b := make([]byte, 32<<10)
		n, err := in.Read(b)
		return b[:n], err
	}
	var event []byte
	for {
		line, err := in.ReadBytes('\n')
		event = append(event, line...)
		if err != nil || len(bytes.TrimRight(line, "\r\n")) == 0 || len(event) > maxBody {
			return event, err
		}
		if in.Buffered() == 0 && bytes.HasPrefix(line, []byte(":")) {
			return event, nil
		}
	}
}

// Read delivers what the fault lets through, when it does.
func (s *stream) Read(b []byte) (int, error) {
	for s.held.Len() == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.fill()
	}
	return s.held.Read(b)
}

// fill waits for the next piece, or for the moment at which the stream is cut.
func (s *stream) fill() {
	if s.fault.Buffer > 0 {
		s.lump()
		return
	}
	cut, end := s.cut()
	defer end()
	select {
	case p := <-s.pieces:
		s.take(p)
	case <-cut:
		s.end()
	case <-s.done:
		s.err = errReset
	}
}

// lump gathers until the peer ends the stream or the buffer's time is over; then pieces pass as they come.
func (s *stream) lump() {
	timer := time.NewTimer(time.Until(s.begun.Add(s.fault.Buffer)))
	defer timer.Stop()
	for s.err == nil {
		select {
		case p := <-s.pieces:
			s.take(p)
		case <-timer.C:
			s.fault.Buffer = 0
			return
		case <-s.done:
			s.err = errReset
		}
	}
}

func (s *stream) take(p piece) {
	if d := time.Until(p.at.Add(s.fault.Hold)); s.fault.Hold > 0 && d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.done:
		}
	}
	s.last = time.Now()
	if p.err != nil {
		s.err = p.err
		return
	}
	s.held.Write(s.rename(p.data))
	s.events++
	if s.fault.ResetEvents > 0 && s.events >= s.fault.ResetEvents {
		s.err = errReset
	}
}

// cut is when the fault ends the stream, if nothing comes before.
func (s *stream) cut() (<-chan time.Time, func()) {
	var at time.Time
	if s.fault.CutAfter > 0 {
		at = s.begun.Add(s.fault.CutAfter)
	}
	if s.fault.CutIdle > 0 {
		last := s.last
		if last.IsZero() {
			last = s.begun
		}
		if idle := last.Add(s.fault.CutIdle); at.IsZero() || idle.Before(at) {
			at = idle
		}
	}
	if s.fault.MoveAfter > 0 && !s.began(s.fault.moves()) {
		at, s.fault.Reset = s.fault.moves(), true
	}
	if at.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(at))
	return timer.C, func() { timer.Stop() }
}

func (s *stream) end() {
	s.err = io.EOF
	if s.fault.Reset {
		s.err = errReset
	}
}

// Close hangs up on the peer.
func (s *stream) Close() error {
	s.closed.Do(func() { close(s.done) })
	return s.from.Close()
}

// began says that the stream began after at.
func (s *stream) began(at time.Time) bool { return s.begun.After(at) }
