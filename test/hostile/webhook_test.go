package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// hook is the webhook that a call brings along.
type hook struct {
	URL   string
	Token string
}

// hookOf finds it, in a message or by the method.
func hookOf(c call) (hook, bool) {
	var p struct {
		hook
		Configuration struct{ TaskPushNotificationConfig, PushNotificationConfig *hook }
	}
	if json.Unmarshal(c.Params, &p) != nil {
		return hook{}, false
	}
	for _, h := range []*hook{p.Configuration.TaskPushNotificationConfig, p.Configuration.PushNotificationConfig, &p.hook} {
		if h != nil && h.URL != "" {
			return *h, true
		}
	}
	return hook{}, false
}

// abuses is a silent agent, which accepts webhooks and calls none as it should, with somebody beside it who does something to each webhook. The
// agent answers once that has begun, so that on a busy machine no webhook is closed before.
func (s *stand) abuses(abuse func(ctx context.Context, h hook, task string)) {
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(func() { cancel(); all.Wait() })
	s.URL = s.http(s.between(func(_ http.ResponseWriter, _ *http.Request, c call) bool {
		if h, ok := hookOf(c); ok {
			s.met.Add(1)
			var p struct{ TaskID string }
			_ = json.Unmarshal(c.Params, &p)
			begun := make(chan struct{})
			ctx := context.WithValue(ctx, begin{}, sync.OnceFunc(func() { close(begun) }))
			all.Go(func() {
				defer hasBegun(ctx) // if it has not by then, it calls nobody
				abuse(ctx, h, p.TaskID)
			})
			select {
			case <-begun:
			case <-time.After(2 * time.Second): // our own doors may be closed to it
			case <-ctx.Done():
			}
		}
		return false
	}, agent.Is("push-silent"), agent.With(func(c *agent.Config) { c.Script.Think = agent.Duration(200 * time.Millisecond) })))
}

// begin is the key of a function that says that an abuse has begun.
type begin struct{}

func hasBegun(ctx context.Context) { ctx.Value(begin{}).(func())() }

// calling is a client of its own for each abuse, so that nothing of it is left.
func calling(ctx context.Context, times, atOnce int, request func(i int) (*http.Request, error)) {
	t := &http.Transport{MaxConnsPerHost: atOnce, MaxIdleConnsPerHost: atOnce}
	defer t.CloseIdleConnections()
	c := &http.Client{Transport: t, Timeout: 20 * time.Second}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { hasBegun(ctx) }})
	var all sync.WaitGroup
	for w := range atOnce {
		all.Go(func() {
			for i := w; i < times && ctx.Err() == nil; i += atOnce {
				req, err := request(i)
				if err != nil {
					return
				}
				resp, err := c.Do(req.WithContext(ctx))
				if err != nil {
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
}

// Peers that call our webhooks too often, with too much, too slowly, or somebody else's. None of it is Honored, and no flood is a proof of silence.
func TestSecurityHostileWebhooks(t *testing.T) {
	body := func(task string) string { return update(task, "TASK_STATE_COMPLETED") }
	notHonored := func(s *stand) {
		s.after = func(t *testing.T, o outcome) {
			if got := o.Observations[trust.PushNotifications]; strings.HasPrefix(got, string(trust.Honored)) {
				t.Errorf("what it did counts as a delivery: %s", got)
			}
		}
	}
	post := func(h hook, text string) (*http.Request, error) {
		req, err := http.NewRequest(http.MethodPost, h.URL, strings.NewReader(text))
		if err == nil {
			req.Header.Set("X-A2A-Notification-Token", h.Token)
		}
		return req, err
	}
	each(t, []peer{
		{name: "100,000 calls", stand: func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, _ string) {
				calling(ctx, 100_000, 16, func(i int) (*http.Request, error) {
					return post(h, fmt.Sprintf(`{"statusUpdate":{"taskId":"x%d"}}`, i))
				})
			})
			notHonored(s)
		}},
		{name: "giant calls", stand: func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, _ string) {
				calling(ctx, 1000, 8, func(int) (*http.Request, error) { return post(h, strings.Repeat("x", 4<<20)) })
			})
			notHonored(s)
		}},
		{name: "slow calls", stand: func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, _ string) {
				u, err := url.Parse(h.URL)
				if err != nil {
					return
				}
				var all sync.WaitGroup
				defer all.Wait()
				for range 400 {
					all.Go(func() {
						c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
						if err != nil {
							return
						}
						defer c.Close()
						stop := context.AfterFunc(ctx, func() { _ = c.Close() })
						defer stop()
						_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", u.Path)
						hasBegun(ctx)
						s.drip(c, []byte("x"), time.Second)
					})
				}
			})
			notHonored(s)
		}},
		{name: "guesses", stand: func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, task string) {
				calling(ctx, 2000, 8, func(i int) (*http.Request, error) {
					guess := h
					guess.URL = h.URL[:len(h.URL)-4] + fmt.Sprintf("%04d", i)
					return post(guess, body(task))
				})
			})
			s.after = func(t *testing.T, o outcome) {
				if got := o.Observations[trust.PushNotifications]; !strings.Contains(got, string(trust.ReasonPushNotDelivered)) && !strings.Contains(got, "Inconclusive") {
					t.Errorf("guesses count: %s", got)
				}
			}
		}, breaks: []trust.Capability{trust.PushNotifications}}, // it accepts webhooks and calls none: guesses are no excuse
		{name: "about other tasks", stand: func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, _ string) {
				calling(ctx, 100, 2, func(i int) (*http.Request, error) { return post(h, body(fmt.Sprintf("t%d", i))) })
			})
			notHonored(s)
		}},
		{name: "with other secrets", stand: func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, task string) {
				calling(ctx, 100, 2, func(int) (*http.Request, error) {
					req, err := post(h, body(task))
					if err == nil {
						req.Header.Set("X-A2A-Notification-Token", canary)
						req.Header.Set("Authorization", "Bearer "+canary)
					}
					return req, err
				})
			})
			notHonored(s)
		}},
		{name: "100,000 levels", stand: func(s *stand) {
			s.abuses(func(ctx context.Context, h hook, _ string) {
				calling(ctx, 200, 4, func(int) (*http.Request, error) {
					return post(h, `{"statusUpdate":{"taskId":"x","metadata":`+deep(30_000)+`}}`)
				})
			})
			notHonored(s)
		}},
		{name: "gzip bombs", stand: func(s *stand) {
			bomb := zipped(40<<20, 1)
			s.abuses(func(ctx context.Context, h hook, _ string) {
				calling(ctx, 200, 4, func(int) (*http.Request, error) {
					req, err := http.NewRequest(http.MethodPost, h.URL, bytes.NewReader(bomb))
					if err == nil {
						req.Header.Set("Content-Encoding", "gzip")
					}
					return req, err
				})
			})
			notHonored(s)
		}},
	})
}

// A webhook of one probe is of no use to another: what one peer learned of it, another cannot use for its own, and nothing holds after the round.
func TestSecurityHostileWebhooksOfOthers(t *testing.T) {
	s := newStand(t)
	s.Honest = honest(t)
	var mu sync.Mutex
	var learned []hook
	s.abuses(func(_ context.Context, h hook, _ string) {
		mu.Lock()
		defer mu.Unlock()
		learned = append(learned, h)
	})
	o := probed(t, s.errand)
	mu.Lock()
	defer mu.Unlock()
	if len(learned) == 0 {
		t.Fatal("no webhook was given away")
	}
	seen := map[string]bool{}
	for _, h := range learned {
		if seen[h.URL+h.Token] {
			continue // the same one along with the message and by the method
		}
		for other := range seen {
			if strings.HasPrefix(other, h.URL) || strings.HasSuffix(other, h.Token) {
				t.Error("two tasks share a path or a token")
			}
		}
		seen[h.URL+h.Token] = true
		if strings.Contains(o.Dump, h.Token) || strings.Contains(o.Dump, h.URL[strings.LastIndexByte(h.URL, '/')+1:]) {
			t.Error("a secret is in the report")
		}
	}
}
