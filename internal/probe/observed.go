package probe

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// maxObserved bounds the account of one observation to what status keeps.
const maxObserved = 16

type entry struct {
	at   time.Duration
	text string
}

// account lists what was seen, in order of time, for people: "working@12ms", "GetTask:completed@310ms", "end@311ms". prefix tells one
// exchange from another of the same round ("2:").
func (t *tape) account(prefix string) []string { return written(t.entries(), prefix) }

// entries are all that was seen, in no order.
func (t *tape) entries() []entry {
	var all []entry
	for _, m := range t.Marks {
		all = append(all, entry{m.At, m.text(t)})
	}
	for _, l := range t.Looks {
		all = append(all, entry{l.At, "GetTask:" + l.text()})
	}
	for _, l := range t.Cancels {
		all = append(all, entry{l.Asked, "cancel"}, entry{l.At, "CancelTask:" + l.text()})
	}
	switch {
	case t.Fail != nil:
		all = append(all, entry{t.EndAt, failText(t.Fail)})
	case t.Left != leftNot:
		all = append(all, entry{t.LeftAt, "left"})
	case t.Streamed && !t.Open:
		all = append(all, entry{t.EndAt, string(t.End)})
	}
	return all
}

// written puts entries in the order of time and into words.
func written(all []entry, prefix string) []string {
	slices.SortStableFunc(all, func(a, b entry) int { return int(a.at - b.at) })
	out := make([]string, 0, len(all))
	for _, e := range all {
		out = append(out, fmt.Sprintf("%s%s@%s", prefix, e.text, offset(e.at)))
	}
	return shorten(out)
}

// shorten keeps the beginning and the end of a long account.
func shorten(list []string) []string {
	if len(list) <= maxObserved {
		return list
	}
	head, tail := maxObserved/2, maxObserved/2-1
	out := slices.Clone(list[:head])
	out = append(out, fmt.Sprintf("(%d more)", len(list)-head-tail))
	return append(out, list[len(list)-tail:]...)
}

func (m mark) text(t *tape) string {
	s := string(m.Kind)
	switch m.Kind {
	case wire.KindTask, wire.KindStatus:
		if m.State != "" {
			s = string(m.State)
		}
	case wire.KindError:
		s = fmt.Sprintf("error %d", m.Code)
	}
	if m.Count > 1 {
		s = fmt.Sprintf("%s x%d", s, m.Count)
	}
	if !t.Own(m) && m.Kind != wire.KindMessage {
		s = "other task:" + s
	}
	return s
}

func (l look) text() string {
	switch {
	case l.Fail != nil:
		return failText(l.Fail)
	case l.Code != 0:
		return fmt.Sprintf("error %d", l.Code)
	case l.State != "":
		return string(l.State)
	}
	return string(l.Kind)
}

func failText(e *wire.Error) string {
	if e.Status >= 300 || e.Class == wire.ClassStatus {
		return fmt.Sprintf("HTTP %d", e.Status)
	}
	if text, ok := failWords[e.Class]; ok {
		return text
	}
	return string(e.Class)
}

// failWords say for people what kept an exchange from taking place.
var failWords = map[wire.Class]string{
	wire.ClassBlocked:   "the address may not be dialled",
	wire.ClassDNS:       "the name does not resolve",
	wire.ClassConnect:   "no connection, nothing listens there or no route leads there",
	wire.ClassTLS:       "no secure connection, the certificate or the handshake failed",
	wire.ClassTimeout:   "no answer in time",
	wire.ClassReset:     "the connection was lost",
	wire.ClassRedirect:  "a redirect that is not followed",
	wire.ClassMediaType: "a page for browsers or other content that is none of A2A",
	wire.ClassTooLarge:  "an answer larger than the limit",
	wire.ClassNoHTTP:    "what answers there does not speak HTTP",
	wire.ClassMalformed: "an answer that cannot be read, or can be read in two ways",
	wire.ClassOrigin:    "the URL cannot be asked",
	wire.ClassPlaintext: "http, where the operator allows https alone",
	wire.ClassBusy:      "as many connections to that address, or bytes of answers, as may be were in flight",
	wire.ClassToken:     "no access token was to be had",
	wire.ClassCanceled:  "called off",
}

// offset writes a duration in whole milliseconds below ten seconds, else in tenths of a second.
func offset(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
