package agent

import (
	"context"
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

func (a *Agent) serve(w http.ResponseWriter, r *http.Request) {
	c := a.cfg.Load()
	if isGRPC(r) && c.lists(bindingGRPC) {
		if c.Drip > 0 {
			w = dripper{w, r.Context(), c.Drip.D()}
		}
		a.serveGRPC(c, w, r) // whose paths know no prefix
		return
	}
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
	if below, ok := strings.CutPrefix(path, restPath+"/"); ok && c.lists(bindingREST) {
		a.serveREST(c, w, r, "/"+below)
		return
	}
	if a.serveLegacyExtended(c, w, r, path) {
		return
	}
	if r.Method != http.MethodPost || (path != "" && path != "/" && path != "/a2a" && path != "/a2a/") {
		a.note(r, "other", nil)
		if !a.spoil(c, w, r, "other") {
			refuseRoute(w, r, path)
		}
		return
	}
	a.serveJSONRPC(c, w, r)
}

func refuseRoute(w http.ResponseWriter, r *http.Request, path string) {
	if path == "/a2a" {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	http.NotFound(w, r)
}

// pause is the latency of answers.
func (a *Agent) pause(ctx context.Context, c *Config) bool { return sleep(ctx, c.Latency.D()) }
