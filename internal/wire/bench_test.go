package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// BenchmarkRound is what one round of a peer costs: a client, a card, six unary calls and a stream. BenchmarkBareRound is the same
// with net/http alone and nothing checked, for comparing; both dial anew for every round, as rounds of many peers do.
func BenchmarkRound(b *testing.B) {
	u := mustURL(b, serve(b, honest).URL)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		c, err := NewClient(Options{Egress: loopbackEgress(b)})
		if err != nil {
			b.Fatal(err)
		}
		j := &jsonRPC{client: c, at: Endpoint{URL: u, Generation: V03}}
		if _, err := c.Get(ctx, u, nil); err != nil {
			b.Fatal(err)
		}
		for range 6 {
			if _, err := j.GetTask(ctx, "t1", nil); err != nil {
				b.Fatal(err)
			}
		}
		s, err := j.SendStream(ctx, ping, SendConfig{})
		if err != nil {
			b.Fatal(err)
		}
		for e := range s.Events() {
			_ = e
		}
		if s.End() != EndOrderly {
			b.Fatal(s.End())
		}
		c.Close()
	}
}

func BenchmarkBareRound(b *testing.B) {
	url := serve(b, honest).URL
	b.ReportAllocs()
	for b.Loop() {
		c := &http.Client{Transport: &http.Transport{}}
		bareCall(b, c, http.MethodGet, url, "")
		for range 6 {
			bareCall(b, c, http.MethodPost, url, "tasks/get")
		}
		bareCall(b, c, http.MethodPost, url, "message/stream")
		c.CloseIdleConnections()
	}
}

func bareCall(b *testing.B, c *http.Client, method, url, rpc string) {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "1", "method": rpc, "params": map[string]any{"id": "t1"}})
	req, _ := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	resp, err := c.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, _ := io.ReadAll(resp.Body)
	for _, line := range bytes.Split(data, []byte("\n\n")) {
		var v map[string]any
		_ = json.Unmarshal(bytes.TrimPrefix(line, []byte("data: ")), &v)
	}
}

// honest is a peer that answers at once.
func honest(w http.ResponseWriter, r *http.Request) {
	a := readAsked(r.Body)
	switch a.Method {
	case "message/stream":
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, event(a, working), event(a, completed))
	case "tasks/get":
		w.Header().Set("Content-Type", "application/json")
		write(w, a.reply(task))
	default:
		_, _ = fmt.Fprint(w, `{"name":"x"}`)
	}
}

func BenchmarkNewClient(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c, err := NewClient(Options{Egress: loopbackEgress(b)})
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

func BenchmarkReadEvent(b *testing.B) {
	text := []byte(result(working))
	x := expect{generation: V03, id: value(`"p1"`), stream: true}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		e := readEvent(text, x)
		if e.Kind != KindStatus {
			b.Fatal(e)
		}
	}
}

func BenchmarkSSE(b *testing.B) {
	body := bytes.Repeat([]byte("data: "+result(working)+"\n\n"), 1000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		d := newSSE(bytes.NewReader(body), 1<<20, nil)
		for n := 0; ; n++ {
			if _, err := d.next(); err != nil {
				if n != 1000 {
					b.Fatal(n, err)
				}
				break
			}
		}
	}
}
