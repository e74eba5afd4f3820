package wire

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// End says how a stream's body ended.
type End string

// The ends that are told apart (C01 against C02; rule 5 of the cases).
const (
	EndOrderly        End = "end"       // last chunk, END_STREAM, or Content-Length reached
	EndCloseDelimited End = "close"     // HTTP/1.0 style: the end cannot be told from a cut
	EndReset          End = "reset"     // unexpected EOF, RST, HTTP/2 stream error
	EndOurs           End = "ours"      // our context ended it
	EndTooLarge       End = "too-large" // a limit was reached
	EndBusy           End = "busy"      // as many bytes as may be were in flight; not the peer's doing
	EndMalformed      End = "malformed" // an event came that may say one thing or another, depending on who reads it, or that we failed at
)

// meter reads a body as it comes off the connection: it counts, keeps the clock of the last byte, and remembers how it
// ended.
type meter struct {
	raw     io.Reader
	sent    time.Time
	left    int64
	unclear bool // delimited by the close of the connection alone
	last    atomic.Int64
	came    atomic.Int64 // bytes
	err     error
}

func newMeter(r *reply, limit int64) *meter {
	m := &meter{raw: r.Body, sent: r.sent, left: limit}
	m.unclear = r.ProtoMajor < 2 && r.ContentLength < 0 && len(r.TransferEncoding) == 0
	m.last.Store(int64(r.headerAt))
	return m
}

func (m *meter) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.raw.Read(p)
	if n > 0 {
		m.last.Store(int64(time.Since(m.sent)))
		m.came.Add(int64(n))
	}
	m.left -= int64(n)
	if m.left < 0 {
		err = errTooLarge
	}
	m.err = err
	return n, err
}

// atEnd: the body was read to its end. A wrapped EOF is a connection that broke.
func atEnd(err error) bool {
	return err == io.EOF //nolint:errorlint // see above
}

// at is when the last byte came, since the request was sent.
func (m *meter) at() time.Duration { return time.Duration(m.last.Load()) }

// end says how the body ended, given what the reader above met last. An orderly end stands even if our context ended
// since.
func (m *meter) end(ctx context.Context, err error) End {
	switch {
	case errors.Is(err, errTooLarge), errors.Is(m.err, errTooLarge):
		return EndTooLarge
	case errors.Is(err, errBusy):
		return EndBusy
	case errors.Is(err, errDeep), errors.Is(err, errDoubled):
		return EndMalformed
	case atEnd(err) && atEnd(m.err) && m.unclear:
		return EndCloseDelimited
	case atEnd(err) && atEnd(m.err):
		return EndOrderly
	case ctx.Err() != nil:
		return EndOurs
	}
	return EndReset
}

// inflated reads a body through gzip if it is gzip, whatever its headers say: servers forget the header, and no body of
// this protocol starts with these two bytes.
type inflated struct {
	m    *meter
	in   *bufio.Reader
	gz   *gzip.Reader
	left int64
	peek bool
	err  error // the two bytes promised gzip, and what followed was none
}

func newInflated(m *meter) *inflated { return &inflated{m: m, in: bufio.NewReader(m), left: m.left} }

var gzipMagic = []byte{0x1f, 0x8b}

func (i *inflated) Read(p []byte) (int, error) {
	if !i.peek {
		i.peek = true
		if head, _ := i.in.Peek(len(gzipMagic)); bytes.Equal(head, gzipMagic) {
			i.gz, i.err = gzip.NewReader(i.in)
		}
	}
	if i.err != nil {
		return 0, i.err
	}
	if i.gz == nil {
		return i.in.Read(p)
	}
	n, err := i.gz.Read(p)
	if i.left -= int64(n); i.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// readAll reads a whole body within a limit, before and after inflation. A body that does not go on ends the request's context by its
// cancel. The error is an *Error.
func (c *client) readAll(ctx context.Context, cancel context.CancelCauseFunc, r *reply, limit int64, p pace) ([]byte, error) {
	m := newMeter(r, limit)
	defer m.urge(p, cancel)()
	room := 0
	if n := r.ContentLength; n > 0 && n <= limit {
		room = int(min(n+1, freeBytes)) // one more, to meet the end without growing
	}
	all, err := r.bytes.readAll(newInflated(m), room, 0)
	if err == nil {
		err = m.err // gzip may end before the body does
	}
	if err == nil || atEnd(err) {
		return all, nil
	}
	return nil, failure(ctx, r.StatusCode, err)
}

// urge calls cancel when a body that has begun falls behind its pace, until stop is called.
func (m *meter) urge(p pace, cancel context.CancelCauseFunc) (stop func()) {
	if p.bytes < 0 {
		return func() {}
	}
	var before int64
	var timer *time.Timer
	timer = time.AfterFunc(time.Hour, func() {
		came := m.came.Load()
		if before > 0 && came-before < p.bytes {
			cancel(errStalled)
			return
		}
		before = came
		timer.Reset(p.window)
	})
	timer.Reset(p.window)
	return func() { timer.Stop() }
}

// corrupt tells a broken gzip body from a broken connection.
func corrupt(err error) bool {
	var corrupted flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupted)
}

// maxRetryAfter bounds what a peer may ask us to wait.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header of a 429 or 503, in seconds or as a date; zero if there is none or it makes no sense.
func retryAfter(r *http.Response, now time.Time) time.Duration {
	if r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	v := r.Header.Get("Retry-After")
	if s, err := strconv.ParseInt(v, 10, 64); err == nil {
		if s > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return max(0, time.Duration(s)*time.Second)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(0, t.Sub(now)), maxRetryAfter)
	}
	return 0
}

// dateOf is the Date header, zero if absent.
func dateOf(r *http.Response) time.Time {
	t, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}
