package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/docs"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// evidence is the account of one question of one round. It is shown with -v, on the terminal and in JSON, and goes nowhere else: it
// holds what the peer said, made harmless.
type evidence struct {
	Round    int64  `json:"round"`
	Question string `json:"question"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason"`
	// Meaning of the reason and Advice what to do about it, as docs/reasons.md has them.
	Meaning string `json:"meaning,omitempty"`
	Advice  string `json:"advice,omitempty"`
	// Basis of a contradiction: Card, Protocol, Deadline or Behaviour.
	Basis    string   `json:"basis,omitempty"`
	Message  string   `json:"message"`
	Observed []string `json:"observed,omitempty"`
	Expected string   `json:"expected,omitempty"`
	// Rule that decided, and what it says as docs/rules.md has it.
	Rule       string   `json:"rule"`
	RuleSays   []string `json:"ruleSays,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
	ProbedWith []string `json:"probedWith,omitempty"`
	Tasks      int      `json:"tasks"`
	// Exchanges are the numbers of those that were had for this question; empty where others' told enough.
	Exchanges []int `json:"exchanges,omitempty"`
}

// shownExchange is one request and its answer, harmless.
type shownExchange struct {
	Number   int                 `json:"number"`
	Round    int64               `json:"round"`
	Question string              `json:"question,omitempty"`
	At       string              `json:"at"`
	Method   string              `json:"method"`
	URL      string              `json:"url"`
	Headers  map[string][]string `json:"requestHeaders,omitempty"`
	Body     string              `json:"requestBody,omitempty"`
	Status   int                 `json:"status,omitempty"`
	Response map[string][]string `json:"responseHeaders,omitempty"`
	Answer   string              `json:"responseBody,omitempty"`
	Frames   []shownFrame        `json:"frames,omitempty"`
	End      string              `json:"end,omitempty"`
	Took     string              `json:"took"`
	Error    string              `json:"error,omitempty"`
	// Cut: bodies are left out, the evidence had grown too large.
	Cut bool `json:"cut,omitempty"`
}

type shownFrame struct {
	At   string `json:"at"`
	Data string `json:"data"`
}

// maxEvidence bounds the bytes of bodies and frames that a check keeps for its JSON.
const maxEvidence = 16 << 20

// witness collects the evidence of a check. Safe for concurrent use.
type witness struct {
	mu        sync.Mutex
	start     time.Time
	round     int64
	count     int
	kept      int
	exchanges []shownExchange
	accounts  []evidence
}

// see numbers an exchange and keeps it.
func (w *witness) see(x wire.Exchange) (number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	e := shownExchange{Number: w.count, Round: w.round, Question: x.Question, At: x.Started.Sub(w.start).Round(time.Millisecond).String(),
		Method: x.Method, URL: harmless(x.URL), Headers: harmlessHeaders(x.Request), Status: x.Status, Response: harmlessHeaders(x.Response),
		End: string(x.End), Took: x.Took.Round(time.Millisecond).String()}
	if x.Err != nil {
		e.Error = harmless(x.Err.Error())
	}
	size := len(x.Body) + len(x.Answer)
	for _, f := range x.Frames {
		size += len(f.Data)
	}
	if e.Cut = w.kept+size > maxEvidence; !e.Cut {
		w.kept += size
		e.Body, e.Answer = harmlessText(x.Body), harmlessText(x.Answer)
		for _, f := range x.Frames {
			e.Frames = append(e.Frames, shownFrame{At: f.At.Round(time.Millisecond).String(), Data: harmlessText(f.Data)})
		}
	}
	w.exchanges = append(w.exchanges, e)
	return w.count
}

func (w *witness) begin(round int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.round = round
}

// conclude turns what a round found into accounts.
func (w *witness) conclude(r trust.Round) []evidence {
	w.mu.Lock()
	defer w.mu.Unlock()
	reach := r.Reach
	list := []evidence{w.account(probe.ErrandReach, "an answer of the protocol to a question for a task that cannot exist", reach)}
	for _, o := range r.Observations {
		list = append(list, w.account(string(o.Capability), probe.Expected(o.Capability), o))
	}
	w.accounts = append(w.accounts, list...)
	return list
}

func (w *witness) account(question, expects string, o trust.Observation) evidence {
	e := evidence{Round: w.round, Question: question, Outcome: string(o.Outcome), Reason: string(o.Reason), Basis: string(o.Basis),
		Message: asFlags(o.Message), Observed: o.Observed, Expected: expects, Rule: o.Rule, RuleSays: docs.Rule(o.Rule),
		ProbedWith: o.ProbedWith, Tasks: o.Tasks}
	if o.Outcome != trust.Honored {
		e.Meaning, e.Advice = docs.Reason(string(o.Reason))
		e.Advice = asFlags(e.Advice)
	}
	for _, warning := range o.Warnings {
		e.Warnings = append(e.Warnings, string(warning))
	}
	for _, x := range w.exchanges {
		if x.Round == w.round && x.Question == question {
			e.Exchanges = append(e.Exchanges, x.Number)
		}
	}
	return e
}

// print shows accounts to people.
func printAccounts(w io.Writer, list []evidence) {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "\n== round %d, %s: %s ==\n", e.Round, e.Question, verdict(e))
		line := func(label, text string) {
			if text != "" {
				fmt.Fprintf(&b, "%-10s %s\n", label, text)
			}
		}
		line("what", e.Message)
		line("seen", strings.Join(e.Observed, "  "))
		line("expected", e.Expected)
		for i, says := range e.RuleSays {
			line([]string{"rule", ""}[min(i, 1)], says)
		}
		if len(e.RuleSays) == 0 {
			line("rule", e.Rule)
		}
		if e.Meaning != "" {
			line("reason", e.Reason+": "+e.Meaning)
		}
		line("to do", e.Advice)
		for _, warning := range e.Warnings {
			meaning, _ := docs.Reason(warning)
			line("warning", strings.TrimSuffix(warning+": "+meaning, ": "))
		}
		line("metadata", strings.Join(e.ProbedWith, ", "))
		line("cost", cost(e))
	}
	_, _ = io.WriteString(w, b.String())
}

func verdict(e evidence) string {
	words := []string{e.Outcome}
	if e.Reason != e.Outcome {
		words = append(words, e.Reason)
	}
	if e.Basis != "" {
		words = append(words, "(against the "+strings.ToLower(e.Basis)+")")
	}
	return strings.Join(words, " ")
}

func cost(e evidence) string {
	tasks := fmt.Sprintf("%d tasks", e.Tasks)
	if e.Tasks == 1 {
		tasks = "1 task"
	}
	switch {
	case len(e.Exchanges) == 0 && len(e.Observed) == 0:
		return tasks + ", nothing was asked of the agent"
	case len(e.Exchanges) == 0:
		return tasks + ", no exchange of its own: judged by what other questions saw"
	}
	return fmt.Sprintf("%s, exchanges %s", tasks, spans(e.Exchanges))
}

// spans writes sorted numbers as "3-7, 9".
func spans(list []int) string {
	list = slices.Sorted(slices.Values(list))
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			out = append(out, fmt.Sprintf("#%d", list[i]))
		} else {
			out = append(out, fmt.Sprintf("#%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

func harmlessHeaders(h http.Header) map[string][]string {
	out := map[string][]string{}
	for name, values := range h {
		for _, v := range values {
			out[harmless(name)] = append(out[harmless(name)], harmless(v))
		}
	}
	return out
}

// harmlessText keeps line ends and tabs, which JSON spells out by itself.
func harmlessText(raw []byte) string {
	var b strings.Builder
	for i, line := range strings.Split(string(raw), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(harmless(strings.TrimSuffix(line, "\r")))
	}
	return b.String()
}
