package hostile

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/agentpeer/agentpeer/test/agent"
)

// framed is a connection of HTTP/2, seen from a server that keeps to no rule.
type framed struct {
	*http2.Framer
	conn net.Conn
	s    *stand
	head bytes.Buffer
	enc  *hpack.Encoder
}

// headers are those of an answer, and whatever comes with it.
func (f *framed) headers(fields ...string) []byte {
	f.head.Reset()
	_ = f.enc.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	for i := 0; i+1 < len(fields); i += 2 {
		_ = f.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(f.head.Bytes())
}

// begin answers with headers and leaves the stream open.
func (f *framed) begin(stream uint32, fields ...string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.headers(fields...), EndHeaders: true})
}

// whole answers with a body.
func (f *framed) whole(stream uint32, body string) {
	f.begin(stream, "content-type", "application/json")
	_ = f.WriteData(stream, true, []byte(body))
}

// flood writes what says writes until nobody reads any more.
func (f *framed) flood(write func() error) {
	f.s.met.Add(1)
	for f.s.over.Err() == nil && write() == nil {
		continue
	}
}

// drain reads until the client hangs up, so that what was written arrives.
func (f *framed) drain() {
	for {
		if _, err := f.ReadFrame(); err != nil {
			return
		}
	}
}

// http2 is an endpoint of HTTP/2 over TLS. It keeps the rules until it is asked to send a message; GetTask is answered as an honest agent does.
// open, if set, is told of the connection first, and a message is told of with its stream.
func (s *stand) http2(settings []http2.Setting, open func(f *framed) (goOn bool), message func(f *framed, stream uint32, c call)) {
	id := s.issue(nil)
	s.CA = id.pem
	at := s.raw(func(conn net.Conn) {
		c := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{id.Certificate}, NextProtos: []string{"h2"}})
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, preface); err != nil {
			return
		}
		f := &framed{Framer: http2.NewFramer(c, c), conn: c, s: s}
		f.AllowIllegalWrites = true
		f.enc = hpack.NewEncoder(&f.head)
		if f.WriteSettings(settings...) != nil || open != nil && !open(f) {
			return
		}
		f.serve(message)
	})
	s.endpoint("https://" + at + "/a2a")
}

func (f *framed) serve(message func(f *framed, stream uint32, c call)) {
	bodies := map[uint32][]byte{}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch x := frame.(type) {
		case *http2.SettingsFrame:
			if !x.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.DataFrame:
			bodies[x.StreamID] = append(bodies[x.StreamID], x.Data()...)
			if !x.StreamEnded() {
				continue
			}
			var c call
			_ = json.Unmarshal(bodies[x.StreamID], &c)
			if strings.Contains(c.Method, "Message") && message != nil {
				message(f, x.StreamID, c)
				continue
			}
			f.whole(x.StreamID, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"none"}}`, c.ID))
		}
	}
}

// Connections of HTTP/2 that flood, lie, or fall silent.
func TestSecurityHostileHTTP2(t *testing.T) {
	// floods does something without an end once a message comes, after the headers of an answer.
	floods := func(write func(f *framed, stream uint32) error) func(*stand) {
		return func(s *stand) {
			s.http2(nil, nil, func(f *framed, stream uint32, _ call) {
				f.begin(stream, "content-type", "text/event-stream")
				f.flood(func() error { return write(f, stream) })
			})
		}
	}
	atOnce := func(do func(f *framed)) func(*stand) {
		return func(s *stand) {
			s.http2(nil, func(f *framed) bool { do(f); return false }, nil)
		}
	}
	once := func(do func(f *framed, stream uint32)) func(*stand) {
		return func(s *stand) {
			s.http2(nil, nil, func(f *framed, stream uint32, _ call) {
				s.met.Add(1)
				do(f, stream)
			})
		}
	}
	each(t, []peer{
		{name: "resets", stand: once(func(f *framed, stream uint32) { _ = f.WriteRSTStream(stream, http2.ErrCodeEnhanceYourCalm) })},
		{name: "resets without an end", stand: floods(func(f *framed, stream uint32) error { return f.WriteRSTStream(stream, http2.ErrCodeCancel) })},
		{name: "refusals for ever", stand: once(func(f *framed, stream uint32) { _ = f.WriteRSTStream(stream, http2.ErrCodeRefusedStream) })},
		{name: "away at once", stand: atOnce(func(f *framed) {
			f.s.met.Add(1)
			_ = f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte(canary))
			f.drain()
		})},
		{name: "away for every message", stand: once(func(f *framed, stream uint32) { _ = f.WriteGoAway(stream-1, http2.ErrCodeNo, nil) })},
		{name: "settings without an end", stand: floods(func(f *framed, _ uint32) error { return f.WriteSettings(http2.Setting{ID: 99, Val: 1}) })},
		{name: "pings without an end", stand: floods(func(f *framed, _ uint32) error { return f.WritePing(false, [8]byte{1}) })},
		{name: "pings before anything", stand: atOnce(func(f *framed) { f.flood(func() error { return f.WritePing(false, [8]byte{1}) }) })},
		{name: "priorities without an end", stand: floods(func(f *framed, stream uint32) error {
			return f.WritePriority(stream, http2.PriorityParam{StreamDep: 0, Weight: 1})
		})},
		{name: "updates of windows without an end", stand: floods(func(f *framed, _ uint32) error { return f.WriteWindowUpdate(0, 1) })},
		{name: "a window that overflows", stand: once(func(f *framed, stream uint32) {
			_ = f.WriteWindowUpdate(0, 1<<31-1)
			_ = f.WriteWindowUpdate(stream, 1<<31-1)
		})},
		{name: "unknown frames without an end", stand: floods(func(f *framed, stream uint32) error { return f.WriteRawFrame(99, 0, stream, make([]byte, 16000)) })},
		{name: "empty data without an end", stand: floods(func(f *framed, stream uint32) error { return f.WriteData(stream, false, nil) })},
		{name: "padding without an end", stand: floods(func(f *framed, stream uint32) error {
			return f.WriteDataPadded(stream, false, []byte(":"), make([]byte, 255))
		})},
		{name: "more than the window", stand: floods(func(f *framed, stream uint32) error {
			return f.WriteData(stream, false, bytes.Repeat([]byte("x"), 16000))
		})},
		{name: "interim answers without an end", stand: func(s *stand) {
			s.http2(nil, nil, func(f *framed, stream uint32, _ call) {
				f.flood(func() error {
					f.head.Reset()
					_ = f.enc.WriteField(hpack.HeaderField{Name: ":status", Value: "103"})
					_ = f.enc.WriteField(hpack.HeaderField{Name: "link", Value: strings.Repeat("a", 1000)})
					return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.head.Bytes(), EndHeaders: true})
				})
			})
		}},
		{name: "continuations without an end", stand: func(s *stand) {
			s.http2(nil, nil, func(f *framed, stream uint32, _ call) {
				block := f.headers("x-a", strings.Repeat("a", 4000))
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block})
				f.flood(func() error { return f.WriteContinuation(stream, false, f.headers("x-a", strings.Repeat("b", 4000))) })
			})
		}},
		{name: "empty continuations without an end", stand: func(s *stand) {
			s.http2(nil, nil, func(f *framed, stream uint32, _ call) {
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.headers("x-a", "b")})
				f.flood(func() error { return f.WriteContinuation(stream, false, nil) })
			})
		}},
		{name: "an HPACK bomb", stand: func(s *stand) {
			s.http2(nil, nil, func(f *framed, stream uint32, _ call) {
				s.met.Add(1)
				var block bytes.Buffer
				block.Write(f.headers("x-bomb", strings.Repeat("b", 4000))) // now in the dynamic table, as its newest entry
				block.Write(bytes.Repeat([]byte{0x80 | 62}, 10_000))        // named by one byte each time
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes()})
				f.flood(func() error { return f.WriteContinuation(stream, false, bytes.Repeat([]byte{0x80 | 62}, 16_000)) })
			})
		}},
		{name: "a table of headers of gigabytes", stand: func(s *stand) {
			s.http2([]http2.Setting{{ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1}, {ID: http2.SettingMaxHeaderListSize, Val: 1<<32 - 1}}, nil,
				func(f *framed, stream uint32, _ call) {
					s.met.Add(1)
					f.enc.SetMaxDynamicTableSizeLimit(1 << 30)
					f.enc.SetMaxDynamicTableSize(1 << 30)
					f.begin(stream, "x-a", "b")
				})
		}},
		{name: "windows that never open", stand: func(s *stand) {
			s.http2([]http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, func(*framed) bool { s.met.Add(1); return true }, nil)
		}},
		{name: "no streams allowed", stand: func(s *stand) {
			s.http2([]http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 0}}, func(*framed) bool { s.met.Add(1); return true }, nil)
		}},
		{name: "frames of the greatest size", stand: func(s *stand) {
			s.http2([]http2.Setting{{ID: http2.SettingMaxFrameSize, Val: 1<<24 - 1}}, nil, func(f *framed, stream uint32, _ call) {
				f.flood(func() error { return f.WriteRawFrame(http2.FrameData, 0, stream, make([]byte, 1<<24-1)) })
			})
		}},
		{name: "data without headers", stand: once(func(f *framed, stream uint32) { _ = f.WriteData(stream, true, []byte("{}")) })},
		{name: "data on stream 0", stand: once(func(f *framed, _ uint32) { _ = f.WriteData(0, true, []byte("{}")) })},
		{name: "an answer to nobody", stand: once(func(f *framed, stream uint32) { f.whole(stream+100, "{}") })},
		{name: "headers twice", stand: once(func(f *framed, stream uint32) {
			f.begin(stream, "content-type", "application/json")
			f.begin(stream, "content-type", "application/json")
			f.begin(stream, "content-type", "application/json")
		})},
		{name: "a continuation of nothing", stand: once(func(f *framed, stream uint32) { _ = f.WriteContinuation(stream, true, f.headers()) })},
		{name: "a push promise", stand: once(func(f *framed, stream uint32) {
			_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: stream, PromiseID: 2, BlockFragment: f.headers(), EndHeaders: true})
		})},
		{name: "headers that are none", stand: once(func(f *framed, stream uint32) {
			f.begin(stream, "X-A\r\nX-Evil", canary+"\r\n\x00", "", "", ":path", "/")
		})},
		{name: "a length that lies", stand: once(func(f *framed, stream uint32) {
			f.begin(stream, "content-type", "application/json", "content-length", "1000")
			_ = f.WriteData(stream, true, []byte("{}"))
		})},
		{name: "silence after the headers", stand: once(func(f *framed, stream uint32) { f.begin(stream, "content-type", "text/event-stream") })},
	})
}

// grpc is an honest agent of gRPC but for some methods. Its card is served elsewhere.
func (s *stand) grpc(methods string, answer func(w http.ResponseWriter, r *http.Request)) {
	both := agent.With(func(c *agent.Config) { c.Bindings = []string{"GRPC"} })
	at := s.http(s.between(func(w http.ResponseWriter, r *http.Request, c call) bool {
		if !strings.Contains(" "+methods+" ", " "+c.Method+" ") {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		answer(w, r)
		return true
	}, both))
	a := agent.New(agent.Speaks(agent.V10), agent.Is("push"), both, agent.With(func(c *agent.Config) { c.Card.URL = at }))
	s.t.Cleanup(a.Close)
	s.URL, s.Origins = s.http(a.Handler()), []string{at}
}

// prefixed is a message of gRPC that says it is so long.
func prefixed(compressed byte, length uint32, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{compressed}, length), body...)
}

// Messages of gRPC that lie about their length, never end, or are bombs.
func TestSecurityHostileGRPC(t *testing.T) {
	const all = "SendMessage SendStreamingMessage SubscribeToTask"
	says := func(header []string, say func(s *stand, w http.ResponseWriter)) func(*stand) {
		return func(s *stand) {
			s.grpc(all, func(w http.ResponseWriter, _ *http.Request) {
				s.met.Add(1)
				for i := 0; i+1 < len(header); i += 2 {
					w.Header().Set(header[i], header[i+1])
				}
				say(s, w)
			})
		}
	}
	bomb := zipped(256<<20, 1)
	each(t, []peer{
		{name: "a giant length", stand: says(nil, func(s *stand, w http.ResponseWriter) {
			_, _ = w.Write(prefixed(0, 1<<32-1, nil))
			s.forever(w, make([]byte, 16<<10))
		})},
		{name: "a compressed bomb", stand: says([]string{"Grpc-Encoding", "gzip"}, func(_ *stand, w http.ResponseWriter) {
			_, _ = w.Write(prefixed(1, uint32(len(bomb)), bomb))
		})},
		{name: "compressed by nobody knows what", stand: says([]string{"Grpc-Encoding", canary}, func(_ *stand, w http.ResponseWriter) {
			_, _ = w.Write(prefixed(1, uint32(len(bomb)), bomb))
		})},
		{name: "a flag that is none", stand: says(nil, func(_ *stand, w http.ResponseWriter) { _, _ = w.Write(prefixed(77, 2, []byte{8, 1})) })},
		{name: "empty messages without an end", stand: says(nil, func(s *stand, w http.ResponseWriter) {
			s.forever(w, bytes.Repeat(prefixed(0, 0, nil), 1000))
		})},
		{name: "messages without an end", stand: says(nil, func(s *stand, w http.ResponseWriter) {
			s.forever(w, bytes.Repeat(prefixed(0, 3, []byte{10, 1, 'x'}), 1000))
		})},
		{name: "a message cut short", stand: says(nil, func(_ *stand, w http.ResponseWriter) { _, _ = w.Write(prefixed(0, 100, []byte{10, 1})) })},
		{name: "a message nested without end", stand: says(nil, func(_ *stand, w http.ResponseWriter) {
			var body []byte
			for range 300 {
				body = append(binary.AppendUvarint([]byte{10}, uint64(len(body))), body...)
			}
			_, _ = w.Write(prefixed(0, uint32(len(body)), body))
		})},
		{name: "a million empty fields", stand: says(nil, func(_ *stand, w http.ResponseWriter) {
			inner := bytes.Repeat([]byte{34, 0}, 450_000) // artifacts, or whatever the message has there
			body := append(binary.AppendUvarint([]byte{10}, uint64(len(inner))), inner...)
			_, _ = w.Write(prefixed(0, uint32(len(body)), body))
		})},
		{name: "trailers of megabytes", stand: says([]string{"Trailer", "Grpc-Status, Grpc-Message, X-A"}, func(_ *stand, w http.ResponseWriter) {
			w.Header().Set("Grpc-Status", "13")
			w.Header().Set("Grpc-Message", strings.Repeat(canary, 100_000))
		})},
		{name: "trailers only, of a thousand", stand: says([]string{"Grpc-Status", "13", "Grpc-Message", strings.Repeat("%41", 10_000)}, func(_ *stand, w http.ResponseWriter) {
			for i := range 1000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), canary)
			}
			w.Header().Set("Grpc-Status-Details-Bin", strings.Repeat("A", 20_000))
		})},
		{name: "a status that is none", stand: says([]string{"Grpc-Status", strings.Repeat("9", 1000), "Grpc-Message", "%zz%"}, func(*stand, http.ResponseWriter) {})},
		{name: "silence", stand: func(s *stand) {
			s.grpc(all, func(w http.ResponseWriter, r *http.Request) {
				w.(http.Flusher).Flush()
				s.hang(r.Context())
			})
		}},
	})
}
