package hostile

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

const (
	streams = "SendStreamingMessage SubscribeToTask"
	unary   = "SendMessage GetTask CancelTask"
)

// begun is a stream that began as it should.
func begun(w io.Writer, c call) {
	_, _ = io.WriteString(w, event(c, `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`))
}

// Answers and streams without an end, without a bottom, with everything too large.
func TestSecurityHostileAnswers(t *testing.T) {
	// stream is what is said after a stream began well.
	stream := func(say func(s *stand, w http.ResponseWriter, c call)) func(*stand) {
		return func(s *stand) {
			s.on(streams, func(w http.ResponseWriter, _ *http.Request, c call) {
				begun(w, c)
				say(s, w, c)
			})
		}
	}
	again := func(text func(c call) string) func(*stand) {
		return stream(func(s *stand, w http.ResponseWriter, c call) { s.forever(w, []byte(text(c))) })
	}
	once := func(methods string, text func(c call) string) func(*stand) {
		return func(s *stand) {
			s.on(methods, func(w http.ResponseWriter, _ *http.Request, c call) {
				s.met.Add(1)
				_, _ = io.WriteString(w, text(c))
			})
		}
	}
	each(t, []peer{
		{name: "comments without an end", stand: again(func(call) string { return strings.Repeat(":\n", 500) })},
		{name: "long comments without an end", stand: again(func(call) string { return ":" + strings.Repeat("x", 60<<10) + "\n\n" })},
		{name: "empty lines without an end", stand: again(func(call) string { return strings.Repeat("\n", 4096) })},
		{name: "fields without an end", stand: again(func(call) string { return strings.Repeat("id: 1\nretry: 1\nevent: x\n", 200) })},
		{name: "events without an end", stand: again(func(c call) string { return strings.Repeat(event(c, update("t", "TASK_STATE_WORKING")), 20) }),
			breaks: []trust.Capability{trust.Cancellation}},
		{name: "events without data", stand: again(func(call) string { return strings.Repeat("data:\n\n", 500) })},
		{name: "one line without an end", stand: stream(func(s *stand, w http.ResponseWriter, _ call) {
			_, _ = io.WriteString(w, "data: ")
			s.forever(w, bytes.Repeat([]byte("x"), 4096))
		})},
		{name: "one event without an end", stand: again(func(call) string { return strings.Repeat("data: x\n", 500) })},
		{name: "one event of empty lines without an end", stand: again(func(call) string { return strings.Repeat("data\n", 500) })},
		{name: "a stream byte by byte", stand: stream(func(s *stand, w http.ResponseWriter, c call) {
			s.drip(w, []byte(event(c, update("t", "TASK_STATE_WORKING"))), time.Second)
		})},
		{name: "comments one by one", stand: stream(func(s *stand, w http.ResponseWriter, _ call) { s.drip(w, []byte(":\n"), 50*time.Millisecond) })},
		{name: "a gzip bomb as a stream", stand: func(s *stand) {
			bomb := zipped(256<<20, 1)
			s.on(streams, func(w http.ResponseWriter, _ *http.Request, _ call) {
				s.met.Add(1)
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(bomb)
			})
		}},
		{name: "a gzip bomb as an answer", stand: func(s *stand) {
			bomb := zipped(256<<20, 1)
			s.on(unary, func(w http.ResponseWriter, _ *http.Request, _ call) {
				s.met.Add(1)
				_, _ = w.Write(bomb)
			})
		}},
		{name: "answers without an end", stand: func(s *stand) {
			s.on(unary, func(w http.ResponseWriter, _ *http.Request, c call) {
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"x":"`, c.ID)
				s.forever(w, bytes.Repeat([]byte("x"), 4096))
			})
		}},
		{name: "100,000 levels in a result", stand: once(unary, func(c call) string {
			return result(c, `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"metadata":{"x":`+deep(100_000)+`}}}`)
		})},
		{name: "9,000 levels in a result", stand: once(unary, func(c call) string {
			return result(c, `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"metadata":{"x":`+deep(9_000)+`}}}`)
		})},
		{name: "100,000 levels in an event", stand: again(func(c call) string {
			return event(c, `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"x":`+deep(100_000)+`}}}`)
		})},
		{name: "100,000 levels in a data part", stand: again(func(c call) string {
			return event(c, `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"data":`+deep(100_000)+`}]}}}`)
		})},
		{name: "every member twice", stand: once(unary+" "+streams, func(c call) string {
			text := fmt.Sprintf(`{"jsonrpc":"1.0","jsonrpc":"2.0","id":"no","id":%s,"error":{"code":-1,"code":-2},"result":{"task":{"id":"a"},"task":{"id":"t","id":"u",`+
				`"status":{"state":"TASK_STATE_WORKING"},"status":{"state":"TASK_STATE_FAILED","state":"TASK_STATE_COMPLETED"}}}}`, c.ID)
			if strings.Contains(streams, c.Method) {
				return "data: " + text + "\n\n"
			}
			return text
		})},
		{name: "giant words everywhere", stand: func(s *stand) {
			big := strings.Repeat(canary, 200<<10/len(canary))
			s.on(unary+" "+streams, func(w http.ResponseWriter, _ *http.Request, c call) {
				s.met.Add(1)
				task := fmt.Sprintf(`{"task":{"id":%q,"contextId":%q,"status":{"state":%q,"timestamp":%q},"artifacts":[{"artifactId":%q,"parts":[{"mediaType":%q,"text":"x"}]}]}}`,
					big, big, big, big, big, big)
				if strings.Contains(streams, c.Method) {
					for range 8 {
						_, _ = io.WriteString(w, event(c, task))
					}
					return
				}
				_, _ = io.WriteString(w, result(c, task))
			})
		}},
		{name: "ids of 4 KiB, always another", stand: func(s *stand) {
			s.on(streams, func(w http.ResponseWriter, _ *http.Request, c call) {
				s.met.Add(1)
				for i := range 4000 {
					id := fmt.Sprintf("t%d%s", i, strings.Repeat("i", 4000))
					_, _ = io.WriteString(w, event(c, update(id, "TASK_STATE_WORKING")))
				}
			})
		}, breaks: []trust.Capability{trust.Streaming}},
		{name: "states that are none", stand: again(func(c call) string { return event(c, update("t", strings.Repeat(canary, 1000))) })},
		{name: "10,000 tasks in one stream", stand: func(s *stand) {
			s.on(streams, func(w http.ResponseWriter, _ *http.Request, c call) {
				s.met.Add(1)
				for i := range 10_000 {
					_, _ = io.WriteString(w, event(c, fmt.Sprintf(`{"task":{"id":"t%d","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`, i)))
				}
			})
		}, breaks: []trust.Capability{trust.Streaming}},
		{name: "a task of 100,000 artifacts", stand: once(unary, func(c call) string {
			return result(c, `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[`+
				many(`{"artifactId":"a","parts":[]}`, 3<<20)+`],"history":[]}}`)
		})},
		{name: "a history of a million messages", stand: once("GetTask", func(c call) string {
			return result(c, `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"history":[`+many(`{"messageId":"m"}`, 3<<20)+`]}`)
		}), breaks: []trust.Capability{trust.TaskRetrieval}},
		{name: "a task that works for ever", stand: func(s *stand) {
			s.on(streams+" CancelTask", func(w http.ResponseWriter, r *http.Request, c call) {
				if c.Method == "CancelTask" {
					_, _ = io.WriteString(w, result(c, `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`))
					return
				}
				begun(w, c)
				s.drip(w, []byte(event(c, `{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`)), time.Millisecond)
			})
		}},
		{name: "numbers of a megabyte", stand: once(unary, func(c call) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"x"}}`, strings.Repeat("9", 1<<20), strings.Repeat("9", 1<<20))
		})},
		{name: "errors of megabytes", stand: once("SendMessage "+streams, func(c call) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s","data":[%s]}}`, c.ID, strings.Repeat(canary, 50<<10), many(`{"@type":"`+canary+`"}`, 2<<20))
		})},
		{name: "words that are none", stand: once(unary+" "+streams, func(c call) string {
			text := result(c, `{"task":{"id":"`+odd+"\xff"+`","contextId":"`+odd+`","status":{"state":"`+odd+`"},"artifacts":[{"artifactId":"`+odd+"\xc0\xaf"+`"}]}}`)
			if strings.Contains(streams, c.Method) {
				return "data: " + text + "\n\n"
			}
			return text
		})},
		{name: "webhook ids of megabytes", stand: once("CreateTaskPushNotificationConfig", func(c call) string {
			return result(c, `{"taskId":"t","id":"`+strings.Repeat("i", 3<<20)+`","url":"http://`+canary+`"}`)
		})},
		{name: "an extended card without an end", stand: func(s *stand) {
			s.on("GetExtendedAgentCard", func(w http.ResponseWriter, _ *http.Request, c call) {
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"name":"`, c.ID)
				s.forever(w, bytes.Repeat([]byte("x"), 4096))
			}, agent.Is("extended"))
		}},
	})
}

// Words of the peer's that go back to it, in paths and headers, cannot forge a request: a peer that names tasks so is asked about them as it
// named them, or not at all.
func TestSecurityHostileEchoes(t *testing.T) {
	id := canary + "/../../admin?x=1#\r\nX-Evil: 1\r\n\r\nGET /stolen HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			var mu sync.Mutex
			var evil []string
			quoted := fmt.Sprintf("%q", id)
			h := s.between(func(w http.ResponseWriter, r *http.Request, c call) bool {
				mu.Lock()
				if r.Header.Get("X-Evil") != "" || strings.Contains(r.URL.EscapedPath(), "stolen") && !strings.Contains(r.URL.EscapedPath(), "%2F") || strings.HasPrefix(r.URL.Path, "/admin") {
					evil = append(evil, r.Method+" "+r.URL.EscapedPath())
				}
				mu.Unlock()
				task := `{"task":{"id":` + quoted + `,"contextId":` + quoted + `,"status":{"state":"TASK_STATE_WORKING"}}}`
				rpc := binding == "JSONRPC"
				switch {
				case strings.Contains(c.Method, "SendStreamingMessage"), strings.HasSuffix(r.URL.Path, "message:stream"):
					s.met.Add(1)
					w.Header().Set("Content-Type", "text/event-stream")
					if rpc {
						task = result(c, task)
					}
					_, _ = fmt.Fprintf(w, "id: %s\ndata: %s\n\n", canary, task)
				case c.Method == "SendMessage", strings.HasSuffix(r.URL.Path, "message:send"):
					s.met.Add(1)
					w.Header().Set("Content-Type", "application/json")
					if rpc {
						task = result(c, task)
					}
					_, _ = io.WriteString(w, task)
				default:
					return false
				}
				return true
			}, agent.With(func(c *agent.Config) { c.Bindings = []string{binding} }))
			s.URL, s.Honest = s.http(h), honest(t)
			o := probed(t, s.errand)
			t.Logf("%s %v", o.Reach, o.Observations)
			mu.Lock()
			defer mu.Unlock()
			if len(evil) > 0 || s.met.Load() == 0 {
				t.Errorf("%d messages answered, forged requests %q", s.met.Load(), evil)
			}
			if strings.Contains(o.Dump, canary) {
				t.Error("the id is in the report")
			}
		})
	}
}

// What a peer tells us to keep, or where it tells us to go, is neither kept nor gone to.
func TestSecurityHostileHints(t *testing.T) {
	var elsewhere, cookies sync.Map
	each(t, []peer{
		{name: "cookies", sound: true, stand: func(s *stand) {
			h := s.between(func(w http.ResponseWriter, r *http.Request, _ call) bool {
				s.met.Add(1)
				if r.Header.Get("Cookie") != "" {
					cookies.Store(r.URL.Path, true)
				}
				for i := range 100 {
					w.Header().Add("Set-Cookie", fmt.Sprintf("c%d=%s; Path=/", i, canary))
				}
				return false
			})
			s.URL = s.http(h)
		}},
		{name: "another service", sound: true, stand: func(s *stand) {
			there := s.raw(func(net.Conn) { elsewhere.Store("dialled", true) })
			s.URL = s.https(s.between(func(w http.ResponseWriter, _ *http.Request, _ call) bool {
				s.met.Add(1)
				w.Header().Set("Alt-Svc", fmt.Sprintf(`h2="%s"; ma=86400, h3="%s"; ma=86400`, there, there))
				w.Header().Set("Refresh", "0; url=http://"+there)
				w.Header().Set("Link", "<http://"+there+">; rel=preconnect")
				w.Header().Set("Content-Location", "http://"+there)
				return false
			}))
		}},
		{name: "early hints", sound: true, stand: func(s *stand) {
			s.URL = s.http(s.between(func(w http.ResponseWriter, _ *http.Request, _ call) bool {
				s.met.Add(1)
				w.Header().Set("Link", "<http://127.0.0.1:1>; rel=preload")
				for range 3 {
					w.WriteHeader(http.StatusEarlyHints)
				}
				w.Header().Del("Link")
				return false
			}))
		}},
		{name: "wait for years", stand: func(s *stand) {
			s.on(unary+" "+streams, func(w http.ResponseWriter, _ *http.Request, _ call) {
				s.met.Add(1)
				w.Header().Set("Retry-After", "99999999999999999999")
				if s.met.Load()%2 == 0 {
					w.Header().Set("Retry-After", "31536000000")
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			s.after = func(t *testing.T, o outcome) {
				if o.RetryAfter > 24*time.Hour {
					t.Errorf("we are to wait for %s", o.RetryAfter)
				}
			}
		}},
		{name: "a giant challenge", stand: func(s *stand) {
			s.on(unary+" "+streams, func(w http.ResponseWriter, _ *http.Request, _ call) {
				s.met.Add(1)
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+strings.Repeat(canary, 3000)+`", scope="`+canary+`"`)
				w.WriteHeader(http.StatusUnauthorized)
			})
		}},
		{name: "redirects for ever", stand: func(s *stand) {
			s.URL = s.http(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, fmt.Sprintf("/%d", s.met.Add(1)), http.StatusTemporaryRedirect)
			}))
			s.after = func(t *testing.T, _ outcome) {
				if n := s.met.Load(); n > 30 {
					t.Errorf("%d redirects were followed", n)
				}
			}
		}},
		{name: "redirects elsewhere", stand: func(s *stand) {
			there := s.raw(func(net.Conn) { elsewhere.Store("redirected", true) })
			s.on(unary+" "+streams, func(w http.ResponseWriter, r *http.Request, _ call) {
				s.met.Add(1)
				http.Redirect(w, r, "http://"+there+"/", http.StatusTemporaryRedirect)
			})
		}},
	})
	elsewhere.Range(func(k, _ any) bool { t.Errorf("we went elsewhere: %v", k); return true })
	cookies.Range(func(k, _ any) bool { t.Errorf("a cookie came back to %v", k); return true })
}
