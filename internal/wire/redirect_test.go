package wire

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRedirectPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		from   string
		status int
		to     string
		want   bool
	}{
		"to another path, by 307":                      {"https://a.test/x", 307, "https://a.test/y", true},
		"to another path, by 308":                      {"https://a.test/x", 308, "https://a.test/y?z", true},
		"to a host in other letters":                   {"https://a.test/x", 307, "https://A.TEST/y", true},
		"to the default port written out":              {"https://a.test/x", 308, "https://a.test:443/y", true},
		"to a URL with a user name, which is not sent": {"https://a.test/x", 307, "https://me@a.test/y", true},
		"by 301, after which some would ask another":   {"https://a.test/x", 301, "https://a.test/y", false},
		"by 302":                                 {"https://a.test/x", 302, "https://a.test/y", false},
		"by 303":                                 {"https://a.test/x", 303, "https://a.test/y", false},
		"by a choice, which is not made":         {"https://a.test/x", 300, "https://a.test/y", false},
		"to a proxy, because the peer wants one": {"https://a.test/x", 305, "https://a.test/y", false},
		"up to https, which is another origin":   {"http://a.test/x", 308, "https://a.test/x", false},
		"down to http":                           {"https://a.test/x", 307, "http://a.test/x", false},
		"to another host":                        {"https://a.test/x", 307, "https://b.test/x", false},
		"to a host below":                        {"https://a.test/x", 307, "https://b.a.test/x", false},
		"to the host with a dot at its end":      {"https://a.test/x", 307, "https://a.test./x", false},
		"to another port":                        {"https://a.test/x", 307, "https://a.test:8443/x", false},
		"to another scheme":                      {"https://a.test/x", 307, "ftp://a.test/x", false},
		"to a file":                              {"https://a.test/x", 307, "file:///etc/passwd", false},
		"to a host behind a user name that looks right": {"https://a.test/x", 308, "https://a.test@b.test/x", false},
		"to nothing but an opaque text":                 {"https://a.test/x", 308, "https:a.test", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mayFollow(mustURL(t, tc.from), tc.status, mustURL(t, tc.to)); got != tc.want {
				t.Errorf("mayFollow = %v, want %v", got, tc.want)
			}
		})
	}
	if mayFollow(mustURL(t, "https://a.test/"), 307, nil) {
		t.Error("a redirect to nowhere was followed")
	}
}

func TestGetFollowsThreeRedirectsAndNoMore(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		if n == 0 {
			write(w, "{}")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusPermanentRedirect)
	})
	c := newTestClient(t, Options{})
	p, err := c.Get(within(t, 5*time.Second), mustURL(t, s.URL+"/3"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Redirected || p.FinalURL.Path != "/0" || string(p.Body) != "{}" {
		t.Errorf("page = %+v, want that of /0", p)
	}
	_, err = c.Get(within(t, 5*time.Second), mustURL(t, s.URL+"/4"), nil)
	e := wantClass(t, err, ClassRedirect)
	if e.Status != http.StatusPermanentRedirect || e.Location == nil || e.Location.Path != "/0" {
		t.Errorf("error = %+v, want the redirect that was not followed", e)
	}
}

// TestCredentialsDoNotFollowARedirect: the other server is on another port, which is another origin, and the same host is asked in
// another spelling to prove that the header is decided anew for every hop.
func TestCredentialsDoNotFollowARedirect(t *testing.T) {
	var leaked bool
	thief := serve(t, func(_ http.ResponseWriter, r *http.Request) { leaked = true })
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Api-Key"))
		if r.URL.Path == "/inside" {
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
			return
		}
		if r.URL.Path == "/outside" {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
			return
		}
		_, _ = fmt.Fprint(w, readAsked(r.Body).reply(task))
	}))
	t.Cleanup(s.Close)
	o := Options{Credentials: Credentials{Header: "X-API-Key", Value: "s3cret", Origins: []string{s.URL}}}
	c := newTestClient(t, o)
	if p, err := c.Get(within(t, 5*time.Second), mustURL(t, s.URL+"/inside"), nil); err != nil || p.Status != http.StatusOK {
		t.Fatalf("page %+v, %v, want that of /end", p, err)
	}
	_, err := c.Get(within(t, 5*time.Second), mustURL(t, s.URL+"/outside"), nil)
	wantClass(t, err, ClassRedirect)
	if want := "GET /inside s3cret,GET /end s3cret,GET /outside s3cret"; strings.Join(got, ",") != want {
		t.Errorf("requests %q, want %q", got, want)
	}
	if leaked {
		t.Error("the other origin was asked")
	}
}

// TestNoQuestionFollowsARedirect: where another address answers, what it says is no word about the one that the card names (C47).
func TestNoQuestionFollowsARedirect(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked []string
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method+" "+r.URL.Path)
			http.Redirect(w, r, "/elsewhere", status)
		})
		j := askOf(t, mustURL(t, s.URL+"/a2a"), V10, Options{})
		_, err := j.SendStream(within(t, 5*time.Second), ping, SendConfig{})
		if e := wantClass(t, err, ClassRedirect); e.Status != status || e.Location == nil || e.Location.Path != "/elsewhere" {
			t.Errorf("error %+v, want the redirect of %d", e, status)
		}
		_, err = j.GetTask(within(t, 5*time.Second), "t1", nil)
		wantClass(t, err, ClassRedirect)
		if strings.Join(asked, ",") != "POST /a2a,POST /a2a" {
			t.Errorf("%d: requests %v, want two to the endpoint", status, asked)
		}
	}
}
