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
		method, from string
		status       int
		to           string
		want         bool
	}{
		"a GET goes where it is sent on its host":        {"GET", "https://a.test/x", 302, "https://a.test/y", true},
		"a GET is upgraded":                              {"GET", "http://a.test/x", 301, "https://a.test/x", true},
		"a GET is upgraded to a port of its own":         {"GET", "http://a.test:8080/x", 308, "https://a.test:8443/x", true},
		"a GET is never downgraded":                      {"GET", "https://a.test/x", 302, "http://a.test/x", false},
		"a GET stays on its host":                        {"GET", "https://a.test/x", 302, "https://b.test/x", false},
		"a GET stays on its port":                        {"GET", "https://a.test/x", 302, "https://a.test:8443/x", false},
		"a GET does not leave for another scheme":        {"GET", "https://a.test/x", 302, "ftp://a.test/x", false},
		"a POST stays a POST at 307":                     {"POST", "https://a.test/x", 307, "https://a.test/y", true},
		"a POST stays a POST at 308 and upgraded (C47)":  {"POST", "http://a.test/x", 308, "https://a.test/x", true},
		"a POST would become a GET at 301 (C47)":         {"POST", "http://a.test/x", 301, "https://a.test/x", false},
		"a POST would become a GET at 302":               {"POST", "https://a.test/x", 302, "https://a.test/y", false},
		"a POST would become a GET at 303":               {"POST", "https://a.test/x", 303, "https://a.test/y", false},
		"a POST is never downgraded":                     {"POST", "https://a.test/x", 307, "http://a.test/x", false},
		"a POST stays on its host":                       {"POST", "https://a.test/x", 307, "https://b.test/x", false},
		"a choice is not made":                           {"GET", "https://a.test/x", 300, "https://a.test/y", false},
		"a host in other letters is the same":            {"GET", "https://a.test/x", 302, "https://A.TEST/y", true},
		"the default port written out is the same":       {"GET", "https://a.test/x", 302, "https://a.test:443/y", true},
		"a proxy is not used because the peer wants one": {"GET", "https://a.test/x", 305, "https://a.test/y", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := mayFollow(ask{method: tc.method, url: mustURL(t, tc.from)}, tc.status, mustURL(t, tc.to))
			if got != tc.want {
				t.Errorf("mayFollow = %v, want %v", got, tc.want)
			}
		})
	}
	if mayFollow(ask{method: "GET", url: mustURL(t, "https://a.test/")}, 302, nil) {
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
		http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
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
	if e.Status != http.StatusFound || e.Location == nil || e.Location.Path != "/0" {
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
	j := askOf(t, mustURL(t, s.URL+"/inside"), V03, o)
	a, err := j.Send(within(t, 5*time.Second), ping, SendConfig{})
	if err != nil || a.Kind != KindTask || a.Has(ProblemIDMismatch) {
		t.Fatalf("answer %+v, %v, want the task: a 307 is followed with its body", a, err)
	}
	j.at.URL = mustURL(t, s.URL+"/outside")
	_, err = j.Send(within(t, 5*time.Second), ping, SendConfig{})
	wantClass(t, err, ClassRedirect)
	if want := "POST /inside s3cret,POST /end s3cret,POST /outside s3cret"; strings.Join(got, ",") != want {
		t.Errorf("requests %q, want %q", got, want)
	}
	if leaked {
		t.Error("the other origin was asked")
	}
}

// TestUpgradedRedirectLeavesHTTPCredentialsBehind: what may go to http://host may not go to https://host unless it is listed.
func TestUpgradedRedirectLeavesHTTPCredentialsBehind(t *testing.T) {
	var got http.Header
	secure, ca := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = fmt.Fprint(w, readAsked(r.Body).reply(task))
	})
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, secure.URL, http.StatusPermanentRedirect)
	})
	o := Options{RootCAs: ca, Credentials: Credentials{Header: "Authorization", Value: "Bearer s3cret", Origins: []string{plain.URL}}}
	j := askOf(t, mustURL(t, plain.URL), V03, o)
	if _, err := j.Send(within(t, 5*time.Second), ping, SendConfig{}); err != nil {
		t.Fatal(err)
	}
	if got == nil || got.Get("Authorization") != "" {
		t.Errorf("headers %v, want a request without Authorization", got)
	}
}

func TestPostAnswered302IsARedirectAndNotAGet(t *testing.T) {
	var methods []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	j := askOf(t, mustURL(t, s.URL), V10, Options{})
	_, err := j.SendStream(within(t, 5*time.Second), ping, SendConfig{})
	if e := wantClass(t, err, ClassRedirect); e.Status != 302 {
		t.Errorf("status %d, want 302", e.Status)
	}
	if len(methods) != 1 || methods[0] != "POST" {
		t.Errorf("methods %v, want one POST", methods)
	}
}
