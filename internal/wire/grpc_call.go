package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// newGRPCAsk frames a request. There is no grpc-timeout in it: how long we wait is our business and no promise to the peer,
// who learns of the end by the reset of the call.
func newGRPCAsk(e Endpoint, m grpcMethod, q proto.Message) (ask, error) {
	body, err := proto.Marshal(q)
	if err != nil {
		return ask{}, &Error{Class: ClassMalformed, Err: err}
	}
	u := *e.URL
	u.Path, u.RawPath, u.RawQuery = m.path, "", ""
	h := http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	if v := e.version(); v != "" {
		h.Set("A2A-Version", v)
	}
	shown, _ := protojson.Marshal(q)                                      // for the trace alone
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))) //nolint:gosec // our own message
	return ask{
		method: http.MethodPost, url: &u, header: h, body: append(framed, body...), shown: shown,
		repeatable: m.repeatable, http2: true,
	}, nil
}

// call sends a request and looks at the head of its answer. The error is an *Error where what answers is not gRPC: another
// kind of server, or a proxy in between. Redirects are not followed: gRPC knows none.
func (c *client) call(ctx context.Context, a ask) (*reply, error) {
	r, err := c.once(ctx, a)
	if err != nil {
		return nil, err
	}
	fail := r.notGRPC()
	if fail == nil {
		return r, nil
	}
	_ = r.Body.Close()
	r.record.done("", fail)
	return nil, fail
}

func (r *reply) notGRPC() error {
	switch {
	case isRedirect(r.StatusCode):
		return &Error{Class: ClassRedirect, Status: r.StatusCode, Location: locationOf(r)}
	case strings.HasPrefix(mediaType(r.Response), "application/grpc"):
		return nil
	case r.StatusCode != http.StatusOK:
		return &Error{Class: ClassStatus, Status: r.StatusCode, RetryAfter: retryAfter(r.Response, time.Now())}
	}
	return &Error{Class: ClassMediaType, Status: r.StatusCode}
}

// Failures of the framing.
var (
	errNoStatus = errors.New("the call ended without a status")
	errFraming  = errors.New("no gRPC framing")
)

// grpcFrames reads the messages of one call.
type grpcFrames struct {
	in  *bufio.Reader
	max int64 // of one message, before and after inflation
	// gzip: the peer says that it compresses so. We did not ask for it, and read it all the same.
	gzip  bool
	bytes *holding
}

func newGRPCFrames(r *reply, m *meter, limit int64) *grpcFrames {
	return &grpcFrames{in: bufio.NewReader(m), max: limit, gzip: r.Header.Get("Grpc-Encoding") == "gzip", bytes: r.bytes}
}

// next reads one message. At the end of the body, between two messages, the error is io.EOF.
func (f *grpcFrames) next() ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[1:]))
	switch {
	case head[0] > 1 || head[0] == 1 && !f.gzip:
		return nil, errFraming
	case size > f.max:
		return nil, errTooLarge
	}
	if err := f.bytes.keep(0); err != nil { // the message before is let go
		return nil, err
	}
	b, err := f.bytes.readAll(io.LimitReader(f.in, size), 0, 0) // grows with what comes, not with what is announced
	if err != nil || int64(len(b)) < size {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	if head[0] == 0 {
		return b, nil
	}
	return f.inflate(b)
}

func (f *grpcFrames) inflate(packed []byte) ([]byte, error) {
	gz, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errFraming
	}
	b, err := f.bytes.readAll(io.LimitReader(gz, f.max+1), 0, cap(packed))
	switch {
	case errors.Is(err, errBusy):
		return nil, err
	case err != nil:
		return nil, errFraming
	case int64(len(b)) > f.max:
		return nil, errTooLarge
	}
	return b, nil
}

// readMessage turns a message into an event; text is its JSON form, for the trace.
func readMessage(b []byte, m grpcMethod, x expect) (e Event, text []byte) {
	e = Event{Kind: KindOther, History: -1, Size: len(b)}
	text, err := protoJSON(m.answer, b)
	root, ok := parse(text)
	if err != nil || !ok {
		if e.note(ProblemMalformed); errors.Is(err, errTooNested) {
			e.note(ProblemTooDeep)
		}
		return e, nil
	}
	e.readWanted(root, x)
	if e.Kind == KindStatus && e.Final == nil && x.generation != V10 {
		e.Final = new(bool) // a field of 0.x that is not sent when it is false
	}
	if e.Kind == KindConfig && e.ConfigID == "" && x.generation != V10 {
		name := root.get("name").ident()
		e.ConfigID = name[strings.LastIndexByte(name, '/')+1:]
	}
	return e, text
}
