package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// checked is what the rounds of one check have found.
type checked struct {
	target   probe.Target
	policy   trust.Policy
	peer     trust.Peer
	last     probe.Report
	card     cardResult
	tasks    int
	orphans  []string
	diverged map[trust.Capability]bool
}

// job of round n: every question, whatever its cadence in a cluster.
func (c *checked) job(n int64) probe.Job {
	return probe.Job{Target: c.target, Generation: 1, Round: n, Kind: trust.Behavior, CardAndTask: true, Ask: probe.Questions(), Control: true,
		KnownDigest: c.peer.Claims.Digest, Doubt: trust.Doubt(c.peer, c.policy, time.Now()), RefusedModes: trust.RefusedModes(c.peer),
		DeliveredTo: trust.DeliveredTo(c.peer)}
}

func (c *checked) fold(r probe.Report) {
	c.last = r
	c.peer, _, _ = trust.Advance(c.peer, c.target.ID, r.Round, c.policy, r.Round.Finished)
	c.tasks += r.Round.Tasks
	for _, o := range r.Orphans {
		c.orphans = append(c.orphans, o.ID)
	}
	for _, o := range r.Round.Observations {
		if o.Outcome == trust.Diverged {
			if c.diverged == nil {
				c.diverged = map[trust.Capability]bool{}
			}
			c.diverged[o.Capability] = true
		}
	}
	if r.Card != nil {
		c.card.ClaimsDigest = r.Card.Digest
		c.card.Warnings = nil
		for _, w := range r.CardWarnings {
			c.card.Warnings = append(c.card.Warnings, string(w))
		}
	}
	if s := signatureOf(r.Round.Signature); s != nil {
		c.card.Signature = s
	}
	c.card.Interfaces = nil
	for _, in := range r.Interfaces {
		d := declaredResult{State: string(in.State), Reason: string(in.Reason)}
		d.interfaceResult = interfaceOf(in.Interface, in.Spoken)
		c.card.Interfaces = append(c.card.Interfaces, d)
	}
	if r.Interface != nil {
		in := interfaceOf(*r.Interface, string(r.WireGeneration))
		c.card.Interface = &in
	}
}

// interfaceOf shows what the card says of an interface, made harmless: its URL may hold what steers a terminal.
func interfaceOf(in card.Interface, spoken string) interfaceResult {
	return interfaceResult{Binding: harmless(in.Binding), ProtocolVersion: harmless(in.ProtocolVersion), URL: harmless(in.URL.String()), Spoken: spoken}
}

// result is the JSON of `agentpeer check -o json`. It is documented in docs/check.md and stable: members are added, never renamed.
type result struct {
	Peer         string             `json:"peer"`
	Rounds       int64              `json:"rounds"`
	Tasks        int                `json:"tasks"`
	Reachable    reachResult        `json:"reachable"`
	Card         cardResult         `json:"card"`
	Capabilities []capabilityResult `json:"capabilities"`
	Decision     decisionResult     `json:"decision"`
	// Orphans are tasks that were begun and could be neither finished nor canceled.
	Orphans []string `json:"orphanedTasks,omitempty"`
	// Evidence and Exchanges are there with -v.
	Evidence  []evidence      `json:"evidence,omitempty"`
	Exchanges []shownExchange `json:"exchanges,omitempty"`
}

type reachResult struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

type cardResult struct {
	ClaimsDigest string           `json:"claimsDigest,omitempty"`
	Interface    *interfaceResult `json:"interface,omitempty"`
	// Interfaces that the card declares, the first 8, and what became of each in the last round.
	Interfaces []declaredResult `json:"interfaces,omitempty"`
	// Signature is what verifying came to; nil unless a flag names keys.
	Signature *signatureResult `json:"signature,omitempty"`
	Warnings  []string         `json:"warnings,omitempty"`
}

type signatureResult struct {
	Result    string `json:"result"`
	Reason    string `json:"reason"`
	Variant   string `json:"variant,omitempty"`
	Partial   bool   `json:"partial,omitempty"`
	KeyID     string `json:"keyID,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
}

// signatureOf shows a signature as status.card.signature does; nil where none was asked for or no card was read.
func signatureOf(s trust.Signature) *signatureResult {
	if s.Result == "" {
		return nil
	}
	return &signatureResult{Result: string(s.Result), Reason: string(s.Reason), Variant: s.Variant, Partial: s.Partial, KeyID: s.KeyID, Algorithm: s.Algorithm}
}

// words for the table.
func (s signatureResult) words() string {
	out := s.Result
	if s.KeyID != "" {
		out += " by " + s.KeyID
	}
	if s.Reason != string(trust.ReasonSignatureVerified) {
		out += ": " + s.Reason
	}
	return out
}

type declaredResult struct {
	interfaceResult
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
}

type interfaceResult struct {
	Binding         string `json:"binding"`
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	URL             string `json:"url"`
	// Spoken is the generation that the peer answered in.
	Spoken string `json:"spoken,omitempty"`
}

type capabilityResult struct {
	Name string `json:"name"`
	// Declared is absent for core behaviours, which no card declares.
	Declared string   `json:"declared,omitempty"`
	State    string   `json:"state"`
	Outcome  string   `json:"outcome,omitempty"`
	Reason   string   `json:"reason"`
	Message  string   `json:"message,omitempty"`
	Observed []string `json:"observed"`
	Warnings []string `json:"warnings,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	// Refused are the declared input modes that are known to be refused; InputModes only.
	Refused []string `json:"refusedInputModes,omitempty"`
	// Tasks that this question cost in the last round; what several share is counted where it was begun.
	Tasks    int `json:"tasks"`
	diverged bool
}

type decisionResult struct {
	Path       string     `json:"path"`
	MultiTurn  string     `json:"multiTurn"`
	Cancel     string     `json:"cancel"`
	Updates    string     `json:"updates"`
	Reason     string     `json:"reason"`
	Expiration *time.Time `json:"expirationTime,omitempty"`
}

func (c *checked) result(now time.Time) result {
	reach := c.last.Round.Reach
	res := result{Peer: c.target.ID, Rounds: c.peer.Rounds.Last, Tasks: c.tasks, Card: c.card, Orphans: c.orphans,
		Reachable: reachResult{Outcome: string(reach.Outcome), Reason: string(reach.Reason), Message: asFlags(reach.Message)}}
	last := map[trust.Capability]trust.Observation{}
	for _, o := range c.last.Round.Observations {
		last[o.Capability] = o
	}
	for _, r := range c.peer.Records {
		res.Capabilities = append(res.Capabilities, capabilityOf(r, last[r.Capability], c.diverged[r.Capability]))
	}
	d := trust.Decide(c.peer, trust.DecideInput{}, now)
	res.Decision = decisionResult{Path: string(d.Path), MultiTurn: d.MultiTurn, Cancel: d.Cancel, Updates: d.Updates, Reason: string(d.Reason)}
	if !d.Expiration.IsZero() {
		e := d.Expiration.UTC().Truncate(time.Second)
		res.Decision.Expiration = &e
	}
	return res
}

// capabilityOf shows the state and, beside it, what the last round saw; of what is demoted it shows what that rests on.
func capabilityOf(r trust.Record, o trust.Observation, diverged bool) capabilityResult {
	out := capabilityResult{Name: string(r.Capability), Declared: string(r.Declared), State: string(r.State), Outcome: string(o.Outcome),
		Reason: string(r.Reason), Message: r.Message, Observed: r.Observed, Rule: r.Rule, diverged: diverged}
	switch {
	case o.Outcome == trust.Diverged && r.State == trust.Demoted:
		out.Message, out.Observed, out.Rule = o.Message, o.Observed, o.Rule
	case o.Outcome != "" && r.State != trust.Demoted:
		out.Message, out.Observed, out.Rule, out.Reason = o.Message, o.Observed, o.Rule, string(o.Reason)
		if diverged && o.Outcome != trust.Diverged {
			out.Message += "; an earlier round of this check contradicted that, see the warnings"
		}
	}
	out.Refused, out.Tasks = r.RefusedModes, o.Tasks
	out.Message = asFlags(out.Message)
	if out.Observed == nil {
		out.Observed = []string{}
	}
	for _, w := range append(slices.Clone(r.Warnings), o.Warnings...) {
		if !slices.Contains(out.Warnings, string(w)) {
			out.Warnings = append(out.Warnings, string(w))
		}
	}
	return out
}

// asFlags names the flags of this command where the engine names fields of a spec.
func asFlags(message string) string {
	message = strings.ReplaceAll(message, "probes.fixtures", "fixtures in the file of --probes")
	message = strings.ReplaceAll(message, "spec.taskIdentity", "taskIdentity in the file of --probes")
	return strings.ReplaceAll(message, "spec.allowedOrigins", "--allow-origins")
}

// exitCode says how the check ended. What nobody asked, for want of a fixture, of a declaration or of a question, does not count.
func (r result) exitCode() int {
	code := exitHonored
	if r.Reachable.Outcome != string(trust.Honored) || r.Card.Interface == nil {
		code = exitUnclear
	}
	if s := r.Card.Signature; s != nil {
		switch {
		case s.Result == string(trust.SignatureUnverifiable):
			code = exitUnclear
		case s.Result == string(trust.SignatureInvalid), s.Result == string(trust.SignatureAbsent), s.Partial:
			return exitDiverged
		}
	}
	for _, c := range r.Capabilities {
		switch {
		case c.diverged || c.State == string(trust.Demoted):
			return exitDiverged
		case c.Outcome == string(trust.Inconclusive) && !notAsked(c.Reason) && c.Declared != string(trust.NotDeclared):
			code = exitUnclear
		}
	}
	return code
}

// notAsked: nobody configured what the question needs, or the card does not declare what it is about.
func notAsked(reason string) bool {
	switch trust.Reason(reason) {
	case trust.ReasonNoFixture, trust.ReasonNoCredentials, trust.ReasonNotDeclared, trust.ReasonPushReceiverMissing:
		return true
	}
	return false
}

func printJSON(w io.Writer, r result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

func printTable(w io.Writer, r result) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "PEER\t%s\n", r.Peer)
	if i := r.Card.Interface; i != nil {
		fmt.Fprintf(t, "INTERFACE\t%s, declared %s, spoken %s, %s\n", i.Binding, orDash(i.ProtocolVersion), orDash(i.Spoken), i.URL)
	}
	if len(r.Card.Interfaces) > 1 || r.Card.Interface == nil {
		for _, d := range r.Card.Interfaces {
			fmt.Fprintf(t, "DECLARED\t%s, %s, %s: %s\n", d.Binding, orDash(d.ProtocolVersion), d.URL, d.words())
		}
	}
	if r.Reachable.Outcome != string(trust.Honored) {
		fmt.Fprintf(t, "REACHABLE\tno: %s: %s\n", r.Reachable.Reason, r.Reachable.Message)
	}
	if s := r.Card.Signature; s != nil {
		fmt.Fprintf(t, "SIGNATURE\t%s\n", s.words())
	}
	if len(r.Card.Warnings) > 0 {
		fmt.Fprintf(t, "CARD WARNINGS\t%s\n", strings.Join(r.Card.Warnings, ", "))
	}
	fmt.Fprintf(t, "ROUNDS\t%d, %d tasks sent\n", r.Rounds, r.Tasks)
	if len(r.Orphans) > 0 {
		fmt.Fprintf(t, "LEFT BEHIND\t%s\n", strings.Join(r.Orphans, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "CAPABILITY\tDECLARED\tSTATE\tREASON\tTASKS\tWHAT WAS SEEN")
	for _, c := range r.Capabilities {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", c.Name, orDash(c.Declared), c.State, c.Reason, c.Tasks, c.Message)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range r.Capabilities {
		if len(c.Warnings) > 0 {
			fmt.Fprintf(w, "warning: %s: %s\n", c.Name, strings.Join(c.Warnings, ", "))
		}
	}
	for _, c := range r.Capabilities {
		if len(c.Refused) > 0 {
			fmt.Fprintf(w, "refused input modes: %s\n", strings.Join(c.Refused, ", "))
		}
	}
	d := r.Decision
	_, err := fmt.Fprintf(w, "\nDECISION  %s (%s), %s, cancel %s, updates by %s\n", d.Path, d.Reason, d.MultiTurn, d.Cancel, d.Updates)
	return err
}

// words say what became of an interface.
func (d declaredResult) words() string {
	s := d.State
	if d.Reason != "" {
		s += " (" + d.Reason + ")"
	}
	if d.Spoken != "" {
		s += ", speaks " + d.Spoken
	}
	return s
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
