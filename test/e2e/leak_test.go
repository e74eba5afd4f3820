package e2e_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hunt looks for words that must not be where it looks, in whatever dress.
type hunt struct {
	mu    sync.Mutex
	forms map[string]string // to the name of the word
	found []string
}

// newHunt is for words by what they are called in reports.
func newHunt(words map[string]string) *hunt {
	h := &hunt{forms: map[string]string{}}
	for name, word := range words {
		for how, form := range dresses(word) {
			h.forms[strings.ToLower(form)] = name + ", " + how
		}
	}
	return h
}

// dresses of a word: itself, in a URL, in hexadecimal, and in base64 wherever it begins in what was encoded.
func dresses(word string) map[string]string {
	forms := map[string]string{"plain": word, "escaped": url.QueryEscape(word), "path": url.PathEscape(word), "hex": hex.EncodeToString([]byte(word))}
	for before := range 3 {
		for name, e := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
			text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + word))
			forms[fmt.Sprintf("%s after %d bytes", name, before)] = text[(before*8+5)/6 : (before+len(word))*8/6]
		}
	}
	return forms
}

// dumpLine is a line of a dump in hexadecimal, as the Kubernetes client logs what it is sent; quoted ones as well.
var dumpLine = regexp.MustCompile(`[0-9a-f]{8}  [0-9a-f ]{47,50} *\|(.{1,16}?)\|(?:\n|\\n|$)`)

// undumped is what stands in dumps, whose lines break words.
func undumped(text string) string {
	var b strings.Builder
	for _, m := range dumpLine.FindAllStringSubmatch(text, -1) {
		b.WriteString(m[1])
	}
	return b.String()
}

// in looks at one place and notes what it finds there.
func (h *hunt) in(place, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text = strings.ToLower(text + undumped(text))
	for form, name := range h.forms {
		if at := strings.Index(text, form); at >= 0 {
			h.found = append(h.found, fmt.Sprintf("%s stands in %s: %.300q", name, place, text[max(0, at-120):min(len(text), at+180)]))
		}
	}
}

// report fails the test for each word that was found, and says how many.
func (h *hunt) report(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.found)
	for _, f := range h.found {
		t.Error(f)
	}
	t.Attr("leaks", strconv.Itoa(len(h.found)))
}

// inCluster looks at all that the readers of a namespace can see: every AgentPeer that ever was, whole, every event, every Lease.
func (h *hunt) inCluster(t *testing.T, w world, seen *history, namespace string) {
	t.Helper()
	text := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	seen.mu.Lock()
	for name, list := range seen.seen {
		var all strings.Builder
		for _, p := range list {
			all.WriteString(text(p))
		}
		h.in("AgentPeer "+name, all.String())
	}
	seen.mu.Unlock()
	var events eventsv1.EventList
	var leases coordinationv1.LeaseList
	for _, list := range []client.ObjectList{&events, &leases} {
		if err := w.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
	}
	if len(events.Items) == 0 {
		t.Error("there are no events to look at")
	}
	h.in("events", text(events))
	if err := w.Client.List(t.Context(), &leases); err != nil {
		t.Fatal(err)
	}
	h.in("leases", text(leases))
}

// inHTTP looks at an answer, headers and all, and returns its body.
func (h *hunt) inHTTP(t *testing.T, method, where, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, where, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	h.in(method+" "+req.URL.Path, fmt.Sprint(resp.Status, resp.Header)+string(raw))
	return string(raw)
}

func TestSecurityLeaksAreFoundInEveryDress(t *testing.T) {
	const word = "s3cret/w0rd+of=ours"
	for name, text := range map[string]string{
		"plain":     "error: " + strings.ToUpper(word),
		"query":     "GET /?key=" + url.QueryEscape(word),
		"base64":    base64.StdEncoding.EncodeToString([]byte("user:" + word)),
		"base64 2":  base64.StdEncoding.EncodeToString([]byte("me:" + word + "!")),
		"base64url": base64.URLEncoding.EncodeToString([]byte("x" + word)),
		"dump":      fmt.Sprintf("%q", hex.Dump([]byte("some token: "+word+" and more"))),
		"hex":       hex.EncodeToString([]byte("a" + word + "b")),
	} {
		h := newHunt(map[string]string{"a secret": word})
		if h.in("a log", text); len(h.found) == 0 {
			t.Errorf("%s: not found in %q", name, text)
		}
	}
	h := newHunt(map[string]string{"a secret": word})
	if h.in("a log", "nothing of it"); len(h.found) > 0 {
		t.Errorf("found where it is not: %q", h.found)
	}
}
