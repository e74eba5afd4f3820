package agent

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

const maxBody = 8 << 20

var errTooLarge = errors.New("body too large")

// copyBounded copies at most maxBody bytes.
func copyBounded(w io.Writer, r io.Reader) (int64, error) {
	n, err := io.Copy(w, io.LimitReader(r, maxBody+1))
	if err == nil && n > maxBody {
		err = errTooLarge
	}
	return n, err
}

// request is a JSON-RPC request.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func (a *Agent) serve(w http.ResponseWriter, r *http.Request) {
	c := a.cfg.Load()
	path, ok := strings.CutPrefix(r.URL.Path, c.Prefix)
	if !ok || (path != "" && path[0] != '/') {
		http.NotFound(w, r)
		return
	}
	if path == "/debug/agent" {
		a.debug(w, r)
		return
	}
	if c.Drip > 0 {
		w = dripper{w, r.Context(), c.Drip.D()}
	}
	path = strings.TrimPrefix(path, "/moved")
	if r.Method == http.MethodGet && c.isCard(path) {
		a.note(r, "card", nil)
		if !a.spoil(c, w, r, "card") {
			a.serveCard(c, w, r)
		}
		return
	}
	if r.Method != http.MethodPost || (path != "" && path != "/" && path != "/a2a" && path != "/a2a/") {
		a.note(r, "other", nil)
		if !a.spoil(c, w, r, "other") {
			refuseRoute(w, r, path)
		}
		return
	}
	a.post(c, w, r)
}

func refuseRoute(w http.ResponseWriter, r *http.Request, path string) {
	if path == "/a2a" {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	http.NotFound(w, r)
}

func (a *Agent) post(c *Config, w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	_, err := copyBounded(&b, r.Body)
	var q request
	if err == nil {
		err = json.Unmarshal([]byte(b.String()), &q)
	}
	method := q.Method
	if method == "" || len(method) > 64 {
		method = "other"
	}
	a.note(r, method, q.Params)
	if a.spoil(c, w, r, "post") {
		return
	}
	x := &call{a: a, c: c, w: w, r: r, q: q, out: renderer{gen: c.Generation, rpc: c.RPC}}
	switch {
	case err != nil:
		x.fail(-32700, "parse error")
	case q.JSONRPC != "2.0" || q.Method == "":
		x.fail(-32600, "invalid request")
	default:
		x.dispatch()
	}
}

// pause is the latency of answers.
func (a *Agent) pause(c *Config, r *http.Request) bool { return sleep(r.Context(), c.Latency.D()) }
