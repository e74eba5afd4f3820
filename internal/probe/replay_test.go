package probe

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// transcript is one recorded exchange of a case: what a real peer answered, and what it may be asked besides.
type transcript struct {
	Title, Expect string
	Ex, Ctl       []recorded
}

// recorded is one answer, chosen by HTTP method, path and JSON-RPC method.
type recorded struct {
	Key    []string
	Status string
	Rhdr   []string
	JSON   json.RawMessage
	Frames [][2]any
	End    string
	Match  string
	IfLeft *bool `json:"if_left"`
}

// replay serves a transcript. Several answers to one key are given in turn, the last one again and again; pick fixes the nth. The card's
// address becomes the server's own, the request's id is echoed, and the one fixed timestamp becomes that of the last stream event.
type replay struct {
	t    *testing.T
	tr   transcript
	pick int

	mu    sync.Mutex
	seen  map[string]int
	left  bool
	last  time.Time
	calls []string
}

func startReplay(t *testing.T, id string, pick int) (*replay, string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]transcript
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	tr, ok := all[id]
	if !ok {
		t.Fatalf("no transcript of %s", id)
	}
	r := &replay{t: t, tr: tr, pick: pick, seen: map[string]int{}, last: time.Now()}
	s := httptest.NewServer(r)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return r, s.URL
}

func (r *replay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(body, &call)
	e, ok := r.choose([]string{req.Method, req.URL.Path, call.Method}, string(body))
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	for _, h := range e.Rhdr {
		name, value, _ := strings.Cut(h, ": ")
		if name != "Transfer-Encoding" {
			w.Header().Set(name, value)
		}
	}
	base := "http://" + req.Host
	if e.Frames == nil {
		_, _ = io.WriteString(w, r.fix(string(e.JSON), call.ID, base))
		return
	}
	_ = http.NewResponseController(w).Flush()
	for _, f := range e.Frames {
		if !pause(req.Context(), time.Duration(f[0].(float64)*float64(time.Second))) {
			r.mu.Lock()
			r.left = true
			r.mu.Unlock()
			return
		}
		_, _ = io.WriteString(w, r.fix(f[1].(string), call.ID, base))
		_ = http.NewResponseController(w).Flush()
		r.mu.Lock()
		r.last = time.Now()
		r.mu.Unlock()
	}
	if e.End == "hold" {
		<-req.Context().Done()
	}
}

func (r *replay) choose(key []string, body string) (recorded, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := strings.Join(key, " ")
	r.calls = append(r.calls, k)
	var matched, plain []recorded
	for _, e := range append(append([]recorded{}, r.tr.Ex...), r.tr.Ctl...) {
		switch {
		case strings.Join(e.Key, " ") != k || e.IfLeft != nil && *e.IfLeft != r.left:
		case e.Match == "":
			plain = append(plain, e)
		case strings.Contains(strings.ReplaceAll(body, " ", ""), e.Match):
			matched = append(matched, e)
		}
	}
	hits := plain
	if len(matched) > 0 {
		hits = matched
	}
	if len(hits) == 0 {
		return recorded{}, false
	}
	i := r.seen[k]
	r.seen[k]++
	if r.pick > 0 {
		i = r.pick - 1
	}
	return hits[min(i, len(hits)-1)], true
}

var recordedID = regexp.MustCompile(`("jsonrpc":\s*"2\.0",\s*(?:data:\s*)?"id":\s*)"p\d"`)

func (r *replay) fix(text string, id json.RawMessage, base string) string {
	r.mu.Lock()
	last := r.last.UTC().Format("2006-01-02T15:04:05.000Z")
	r.mu.Unlock()
	text = recordedID.ReplaceAllString(text, "${1}"+string(id))
	text = strings.ReplaceAll(text, "http://peer.test", base)
	return strings.ReplaceAll(text, "2026-08-12T10:00:02Z", last)
}
