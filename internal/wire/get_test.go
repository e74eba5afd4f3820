package wire

import (
	"net/http"
	"testing"
	"time"
)

// A 304 says that what the asker has is good still. Who said nothing of what it has must not believe it.
func TestANotModifiedThatNobodyAskedForIsNone(t *testing.T) {
	for name, tc := range map[string]struct {
		header http.Header
		path   string
		want   bool
	}{
		"asked for":                        {header: http.Header{"If-None-Match": {`"1"`}}, path: "/card", want: true},
		"asked for, after a redirect":      {header: http.Header{"If-None-Match": {`"1"`}}, path: "/moved", want: true},
		"no header":                        {path: "/card"},
		"another header":                   {header: http.Header{"Accept": {"application/json"}}, path: "/card"},
		"no version named":                 {header: http.Header{"If-None-Match": {""}}, path: "/card"},
		"another header, after a redirect": {header: http.Header{"Accept": {"application/json"}}, path: "/moved"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/moved" {
					http.Redirect(w, r, "/card", http.StatusTemporaryRedirect)
					return
				}
				w.Header().Set("ETag", `"1"`)
				w.WriteHeader(http.StatusNotModified)
			})
			p, err := newTestClient(t, Options{}).Get(within(t, 5*time.Second), mustURL(t, s.URL+tc.path), tc.header)
			if err != nil {
				t.Fatal(err)
			}
			if p.Status != http.StatusNotModified || p.NotModified != tc.want || p.Body != nil {
				t.Errorf("status %d, not modified %t, want 304 and %t", p.Status, p.NotModified, tc.want)
			}
		})
	}
}
