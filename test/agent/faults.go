package agent

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// spoil does below the protocol what the faults ask for; true if the request is done with.
func (a *Agent) spoil(c *Config, w http.ResponseWriter, r *http.Request, what string) bool {
	for i, f := range c.HTTP {
		if f.On != "" && f.On != "all" && f.On != what {
			continue
		}
		if !every(a.nth("fault "+strconv.Itoa(i)), f.Every) {
			continue
		}
		if a.commit(f, w, r) {
			return true
		}
	}
	return false
}

// commit commits one fault; false if it spares this request.
func (a *Agent) commit(f Fault, w http.ResponseWriter, r *http.Request) bool {
	switch {
	case f.Bearer != "":
		if r.Header.Get("Authorization") == "Bearer "+f.Bearer {
			return false
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "unauthorized", http.StatusUnauthorized)
	case f.Hang:
		a.hang(r.Context())
	case f.Drop:
		dropConnection(w)
	case f.Status != 0:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		}
		http.Error(w, http.StatusText(f.Status), f.Status)
	case f.HTML:
		writeHTML(w)
	case f.Redirect != 0:
		return a.redirect(f, w, r)
	case f.EndlessBody:
		a.endless(w, r)
	case f.Giant > 0:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","x":"` + strings.Repeat("x", f.Giant) + `"}`))
	default:
		return false
	}
	return true
}

// hang holds a request until its client or the agent gives up.
func (a *Agent) hang(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.base, cancel)()
	<-ctx.Done()
}

func (a *Agent) redirect(f Fault, w http.ResponseWriter, r *http.Request) bool {
	prefix := a.cfg.Load().Prefix
	path := strings.TrimPrefix(r.URL.Path, prefix)
	if strings.HasPrefix(path, "/moved") {
		return false
	}
	to := f.To
	if to == "" {
		to = a.baseURL(r) + "/moved" + path
	}
	w.Header().Set("Location", to)
	w.WriteHeader(f.Redirect)
	return true
}

// endless sends a JSON string that does not end, as fast as it is read.
func (a *Agent) endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","result":"`))
	block := []byte(strings.Repeat("x", 16<<10))
	for r.Context().Err() == nil && a.base.Err() == nil {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// dropConnection closes without a byte.
func dropConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the closest there is
	}
	_ = conn.Close()
}

func writeHTML(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!doctype html><title>Welcome</title><p>This is a web page."))
}

// dripper writes an answer one byte at a time.
type dripper struct {
	http.ResponseWriter
	ctx   context.Context
	pause time.Duration
}

// Unwrap lets ResponseController find Flush.
func (d dripper) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d dripper) Write(b []byte) (int, error) {
	for i := range b {
		if !sleep(d.ctx, d.pause) {
			return i, d.ctx.Err()
		}
		if _, err := d.ResponseWriter.Write(b[i : i+1]); err != nil {
			return i, err
		}
		if err := http.NewResponseController(d.ResponseWriter).Flush(); err != nil {
			return i, err
		}
	}
	return len(b), nil
}
