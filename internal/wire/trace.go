package wire

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// Exchange is one request and its answer, for `agentpeer check -v`. Bodies are capped and not sanitised: print them
// only through a sanitiser. Credentials are taken out of the request, and blotted out where a peer sends them back.
type Exchange struct {
	// Question that it was asked for, as Options.Question named it; empty if nothing did.
	Question string
	Started  time.Time
	Method   string
	URL      string
	Request  http.Header // credentials removed
	Body     []byte
	Status   int
	Response http.Header
	Answer   []byte  // of a unary answer
	Frames   []Frame // of a stream
	// End of a stream; empty for unary answers.
	End  End
	Took time.Duration
	Err  error
}

// Frame is one SSE event or comment as it came: the data of an event, or a comment with its leading colon.
type Frame struct {
	At   time.Duration
	Data []byte
}

// Caps of one traced exchange.
const (
	traceBytes  = 64 << 10  // of a body
	traceFrames = 1000      // frames
	traceTotal  = 256 << 10 // bytes of all frames
)

// record collects an Exchange. A nil record collects nothing, which is the case without a Trace.
type record struct {
	Exchange
	secret *secret
	trace  func(Exchange)
	total  int
}

// newRecord begins the account of a request that has no credential in it yet.
func (c *client) newRecord(req *http.Request, body []byte) *record {
	if c.trace == nil {
		return nil
	}
	r := &record{secret: c.secret, trace: c.trace}
	if c.question != nil {
		r.Question = c.question()
	}
	r.Started, r.Method, r.URL = time.Now(), req.Method, r.secret.blot(req.URL.String())
	r.Request = req.Header.Clone()
	for _, h := range []string{c.secret.Header, "Authorization", "Cookie", "Proxy-Authorization", "Idempotency-Key"} {
		r.Request.Del(h)
	}
	r.Body = r.copyOf(body, traceBytes)
	return r
}

func (r *record) answered(resp *http.Response) {
	if r == nil {
		return
	}
	r.Status, r.Response = resp.StatusCode, http.Header{}
	r.trailer(resp.Header)
}

// trailer adds what came after the body, and the headers themselves.
func (r *record) trailer(h http.Header) {
	if r == nil {
		return
	}
	for k, vs := range h {
		for _, v := range vs {
			if strings.HasSuffix(k, "-Bin") {
				v = legible(v)
			}
			r.Response[k] = append(r.Response[k], r.secret.blot(v))
		}
	}
}

// legible is what can be read of a binary header of gRPC: a credential must not hide in its base64.
func legible(v string) string {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	if err != nil {
		return "(unreadable)"
	}
	return strings.Join(strings.FieldsFunc(string(raw), func(c rune) bool { return c < ' ' || c > '~' }), " ")
}

func (r *record) body(b []byte) {
	if r != nil {
		r.Answer = r.copyOf(b, traceBytes)
	}
}

func (r *record) frame(at time.Duration, data []byte) {
	if r == nil || len(r.Frames) >= traceFrames || r.total >= traceTotal {
		return
	}
	f := r.copyOf(data, traceTotal-r.total)
	r.total += len(f)
	r.Frames = append(r.Frames, Frame{At: at, Data: f})
}

// done hands the exchange over; it is the last call.
func (r *record) done(end End, err error) {
	if r == nil {
		return
	}
	r.End, r.Err, r.Took = end, r.secret.shown(err), time.Since(r.Started)
	r.trace(r.Exchange)
}

// copyOf blots before it cuts, so that no half of a credential survives at the edge.
func (r *record) copyOf(b []byte, limit int) []byte {
	b = []byte(r.secret.blot(string(b)))
	return bytes.Clone(b[:min(len(b), limit)])
}
