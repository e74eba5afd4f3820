package controllers

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// Bounds of what is written, those of the API. What is longer is cut: a peer must not be able to make a status that the
// API server refuses, nor one over 16 KB.
const (
	maxMessage  = trustv1alpha1.MaxMessageLength
	maxObserved = trustv1alpha1.MaxObserved
	maxStep     = trustv1alpha1.MaxObservedLength
	maxWarnings = trustv1alpha1.MaxCapabilityWarnings
	maxKeys     = trustv1alpha1.MaxProbedWith
	maxKey      = 63
	maxRule     = trustv1alpha1.MaxRuleLength
	maxReason   = trustv1alpha1.MaxReasonLength
	maxRecent   = trustv1alpha1.MaxRecent
	maxSets     = trustv1alpha1.MaxClaimSets
	maxRecords  = trustv1alpha1.MaxCapabilityNames
	maxHours    = trustv1alpha1.MaxTaskHours
)

// maxRound is the last number that leaves room for more below the greatest that the API server takes. Only a status that
// somebody else wrote can come near it.
const maxRound = 1<<53 - 1<<32

// cardDeclares are the capabilities that a card can declare. Those it does not are NotDeclared.
var cardDeclares = []trust.Capability{
	trust.ExtendedAgentCard, trust.PushNotifications, trust.StateTransitionHistory, trust.Streaming,
}

// readMemory reads back what writeMemory put into status. For every Peer that went through writeMemory once,
// readMemory(writeMemory(p)) is p again.
func readMemory(s *trustv1alpha1.AgentPeerStatus) trust.Peer {
	p := trust.Peer{Target: s.Target}
	if s.Card != nil {
		p.Claims, p.Digests = readClaims(s.Card), readDigests(s.Card.ClaimSets)
		p.ClaimsSince = readTime(s.Card.ClaimsSinceTime)
		p.Signature = readSignature(s.Card.Signature)
	}
	for i := range s.Capabilities {
		p.Records = append(p.Records, readRecord(&s.Capabilities[i]))
	}
	if s.Rounds != nil {
		p.Rounds = readRounds(s.Rounds)
	}
	return p
}

// writeMemory puts what is known of a peer into status and leaves alone what is not its own: the decision, conditions,
// settings, and what only routing needs of the card.
func writeMemory(s *trustv1alpha1.AgentPeerStatus, p trust.Peer) {
	s.Target = p.Target
	s.Card = writeClaims(s.Card, p)
	s.Capabilities = nil
	for _, r := range p.Records[:min(len(p.Records), maxRecords)] {
		s.Capabilities = append(s.Capabilities, writeRecord(r))
	}
	slices.SortFunc(s.Capabilities, func(a, b trustv1alpha1.CapabilityStatus) int {
		return strings.Compare(string(a.Name), string(b.Name))
	})
	s.Rounds = writeRounds(p.Rounds)
}

func readClaims(c *trustv1alpha1.CardStatus) trust.Claims {
	claims := trust.Claims{Digest: string(c.ClaimsDigest), Legacy: c.Legacy, NoCapabilities: c.NoCapabilities}
	if claims.Digest == "" {
		return trust.Claims{}
	}
	claims.Declared = map[trust.Capability]trust.Declaration{}
	for _, name := range cardDeclares {
		claims.Declared[name] = trust.NotDeclared
		if slices.Contains(c.Declared, trustv1alpha1.CapabilityName(name)) {
			claims.Declared[name] = trust.Declared
		}
	}
	return claims
}

func writeClaims(card *trustv1alpha1.CardStatus, p trust.Peer) *trustv1alpha1.CardStatus {
	if card == nil {
		card = &trustv1alpha1.CardStatus{}
	} else {
		card = card.DeepCopy()
	}
	card.ClaimsDigest = trustv1alpha1.ClaimsDigest(p.Claims.Digest)
	card.Legacy, card.NoCapabilities = p.Claims.Legacy, p.Claims.NoCapabilities
	card.ClaimsSinceTime = writeTime(p.ClaimsSince)
	card.Declared = nil
	for _, name := range cardDeclares {
		if p.Claims.Declared[name] == trust.Declared {
			card.Declared = append(card.Declared, trustv1alpha1.CapabilityName(name))
		}
	}
	card.ClaimSets = nil
	for _, d := range p.Digests[:min(len(p.Digests), maxSets)] {
		card.ClaimSets = append(card.ClaimSets, writeDigest(d))
	}
	card.Signature = writeSignature(p.Signature)
	if bareCard(card) {
		return nil
	}
	return card
}

// bareCard: nothing is said of any card.
func bareCard(c *trustv1alpha1.CardStatus) bool {
	return c.ClaimsDigest == "" && c.Interface == nil && c.Signature == nil && len(c.Warnings)+len(c.Skills)+len(c.ClaimSets) == 0
}

func readSignature(s *trustv1alpha1.CardSignature) trust.Signature {
	if s == nil {
		return trust.Signature{}
	}
	return trust.Signature{
		Result: trust.SignatureResult(s.Result), Reason: trust.Reason(s.Reason), Variant: s.Variant, Partial: s.Partial, KeyID: s.KeyID,
		Algorithm: s.Algorithm, KeysDigest: string(s.KeysDigest), Time: readTime(s.LastTime), Expiration: readTime(s.ExpirationTime)}
}

func writeSignature(s trust.Signature) *trustv1alpha1.CardSignature {
	if s.Result == "" {
		return nil
	}
	return &trustv1alpha1.CardSignature{
		Result: trustv1alpha1.SignatureResult(s.Result), Reason: reason(s.Reason), Variant: s.Variant, Partial: s.Partial,
		KeyID: cut(s.KeyID, 71), Algorithm: cut(s.Algorithm, 16), KeysDigest: trustv1alpha1.ClaimsDigest(s.KeysDigest),
		LastTime: writeTime(s.Time), ExpirationTime: writeTime(s.Expiration)}
}

func readDigests(sets []trustv1alpha1.ClaimSet) []trust.Digest {
	var out []trust.Digest
	for _, set := range sets {
		d := trust.Digest{Digest: string(set.Digest), FirstSeen: readTime(set.FirstSeenTime), LastSeen: readTime(set.LastSeenTime)}
		for _, h := range set.Held {
			d.Held = append(d.Held, trust.Held{
				Capability: trust.Capability(h.Name), State: trust.State(h.State), Expiration: readTime(h.ExpirationTime)})
		}
		out = append(out, d)
	}
	return out
}

func writeDigest(d trust.Digest) trustv1alpha1.ClaimSet {
	set := trustv1alpha1.ClaimSet{
		Digest: trustv1alpha1.ClaimsDigest(d.Digest), FirstSeenTime: writeTime(d.FirstSeen), LastSeenTime: writeTime(d.LastSeen)}
	for _, h := range d.Held[:min(len(d.Held), maxRecords)] {
		set.Held = append(set.Held, trustv1alpha1.HeldTrust{
			Name: trustv1alpha1.CapabilityName(h.Capability), State: trustv1alpha1.TrustState(h.State),
			ExpirationTime: writeTime(h.Expiration)})
	}
	return set
}

func readRecord(c *trustv1alpha1.CapabilityStatus) trust.Record {
	r := trust.Record{
		Capability:   trust.Capability(c.Name),
		Declared:     trust.Declaration(c.Declared),
		State:        trust.State(c.State),
		Reason:       trust.Reason(c.Reason),
		Message:      c.Message,
		Observed:     slices.Clone(c.Observed),
		Warnings:     convert[trust.Reason](c.Warnings),
		ProbedWith:   slices.Clone(c.ProbedWith),
		Rule:         c.Rule,
		LastOutcome:  trust.Outcome(c.LastOutcome),
		LastReason:   trust.Reason(c.LastReason),
		LastTime:     readTime(c.LastTime),
		Transition:   readTime(c.LastTransitionTime),
		Expiration:   readTime(c.ExpirationTime),
		NextProbe:    readTime(c.NextProbeTime),
		Demotions:    int(c.Demotions),
		DemotedUntil: readTime(c.DemotedUntil),
		Clean:        int(c.CleanRounds),
		Relapsed:     c.Relapsed,
		GoodSince:    readTime(c.GoodSinceTime),
		RefusedModes: slices.Clone(c.RefusedInputModes),
		DeliveredTo:  c.DeliveredTo,
		Honored:      readTime(c.LastHonoredTime),
	}
	if c.Source == trustv1alpha1.SourceReport {
		r.Source = trust.SourceReport
	}
	if s := c.Reports; s != nil {
		r.Reports = trust.Reports{Reporters: int(s.Reporters), Newest: readTime(s.NewestTime), Lifted: readTime(s.LiftedTime)}
	}
	if r.LastOutcome != "" && r.LastReason == "" {
		r.LastReason = r.Reason
	}
	for _, o := range c.Recent {
		for range min(max(o.Count, 1), maxRecent) {
			r.Recent = append(r.Recent, trust.Result{
				Outcome: trust.Outcome(o.Outcome), Reason: trust.Reason(o.Reason), Time: readTime(o.Time), ControlFailed: o.ControlFailed,
				Unexcused: o.Unexcused})
		}
	}
	if p := c.Pairs; p != nil {
		r.Pairs = trust.Pairs{Since: readTime(p.Since), LastDiscordant: readTime(p.LastDiscordantTime), Score: int(p.Score),
			StreamOnly: int(p.StreamOnly), ControlOnly: int(p.ControlOnly),
			Both: int(p.Both), Neither: int(p.Neither), Alone: p.Alone}
	}
	return r
}

func writeRecord(r trust.Record) trustv1alpha1.CapabilityStatus {
	c := trustv1alpha1.CapabilityStatus{
		Name:               trustv1alpha1.CapabilityName(r.Capability),
		Declared:           trustv1alpha1.Declaration(r.Declared),
		State:              trustv1alpha1.TrustState(r.State),
		Reason:             reason(r.Reason),
		Warnings:           reasons(r.Warnings),
		LastOutcome:        trustv1alpha1.Outcome(r.LastOutcome),
		LastTime:           writeTime(r.LastTime),
		LastTransitionTime: writeTime(r.Transition),
		ExpirationTime:     writeTime(r.Expiration),
		NextProbeTime:      writeTime(r.NextProbe),
		Recent:             writeRecent(r.Recent),
		Demotions:          count(r.Demotions, 1000),
		DemotedUntil:       writeTime(r.DemotedUntil),
		CleanRounds:        count(r.Clean, 1_000_000),
		Relapsed:           r.Relapsed,
		GoodSinceTime:      writeTime(r.GoodSince),
		DeliveredTo:        cut(r.DeliveredTo, 64),
		LastHonoredTime:    writeTime(r.Honored),
		Source:             trustv1alpha1.Source(r.Source),
		RefusedInputModes:  cutAll(r.RefusedModes, trustv1alpha1.MaxRefusedInputModes, trustv1alpha1.MaxMediaTypeLength),
	}
	if c.State == "" {
		c.State = trustv1alpha1.Unverified
	}
	if r.Reports != (trust.Reports{}) {
		c.Reports = &trustv1alpha1.ReportedStatus{
			Reporters: count(r.Reports.Reporters, 32), NewestTime: writeTime(r.Reports.Newest), LiftedTime: writeTime(r.Reports.Lifted)}
	}
	if r.LastReason != r.Reason {
		c.LastReason = reason(r.LastReason)
	}
	if speaksOf(r) {
		c.Message = cut(r.Message, maxMessage)
		c.Observed = cutAll(r.Observed, maxObserved, maxStep)
		c.ProbedWith = cutAll(r.ProbedWith, maxKeys, maxKey)
		c.Rule = cut(r.Rule, maxRule)
	}
	if r.Pairs != (trust.Pairs{}) {
		c.Pairs = &trustv1alpha1.PairedComparison{
			Since: writeTime(r.Pairs.Since), LastDiscordantTime: writeTime(r.Pairs.LastDiscordant),
			Score:      int32(min(max(r.Pairs.Score, -1_000_000), 1_000_000)),
			StreamOnly: count(r.Pairs.StreamOnly, 1_000_000), ControlOnly: count(r.Pairs.ControlOnly, 1_000_000),
			Both: count(r.Pairs.Both, 1_000_000), Neither: count(r.Pairs.Neither, 1_000_000), Alone: r.Pairs.Alone}
	}
	return c
}

// speaksOf says whether a record carries its evidence into status: where it is demoted, warned of, or was contradicted
// the last time. Elsewhere the reason says enough, and a thousand healthy peers stay small.
func speaksOf(r trust.Record) bool {
	return r.State == trust.Demoted || len(r.Warnings) > 0 || r.LastOutcome == trust.Diverged
}

// writeRecent folds equal neighbours; contradictions keep their own time and reason, so they stay apart.
func writeRecent(recent []trust.Result) []trustv1alpha1.RecentOutcome {
	var out []trustv1alpha1.RecentOutcome
	for _, r := range recent[:min(len(recent), maxRecent)] {
		next := trustv1alpha1.RecentOutcome{Outcome: trustv1alpha1.Outcome(r.Outcome), ControlFailed: r.ControlFailed}
		if r.Outcome == trust.Diverged {
			next.Reason, next.Time, next.Unexcused = reason(r.Reason), writeTime(r.Time), r.Unexcused
		}
		if n := len(out) - 1; n >= 0 && r.Outcome != trust.Diverged && out[n].Outcome == next.Outcome &&
			out[n].ControlFailed == next.ControlFailed {
			out[n].Count = max(out[n].Count, 1) + 1
			continue
		}
		out = append(out, next)
	}
	return out
}

func readRounds(s *trustv1alpha1.RoundsStatus) trust.Rounds {
	r := trust.Rounds{
		Last:            min(s.Last, maxRound),
		LastTime:        readTime(s.LastTime),
		LastBehavior:    readTime(s.LastBehaviorTime),
		LastCheap:       readTime(s.LastReachabilityTime),
		ReachReason:     trust.Reason(s.ReachabilityReason),
		ReachFailures:   int(s.ReachabilityFailures),
		ReachableSince:  readTime(s.ReachableSince),
		MessageOnly:     int(s.MessageOnly),
		Usable:          s.Usable,
		UsableReason:    trust.Reason(s.UsableReason),
		Behaviors:       s.Behaviors,
		ControlFailedAt: s.ControlFailedAt,
		TasksHour:       readTime(s.TasksHour),
	}
	r.Tasks, r.RequestedTasks = readHours(s.TasksPerHour), readHours(s.RequestedTasksPerHour)
	return r
}

func writeRounds(r trust.Rounds) *trustv1alpha1.RoundsStatus {
	s := &trustv1alpha1.RoundsStatus{
		Last:                 r.Last,
		LastTime:             writeTime(r.LastTime),
		LastBehaviorTime:     writeTime(r.LastBehavior),
		LastReachabilityTime: writeTime(r.LastCheap),
		ReachabilityReason:   reason(r.ReachReason),
		ReachabilityFailures: count(r.ReachFailures, 1_000_000),
		ReachableSince:       writeTime(r.ReachableSince),
		MessageOnly:          count(r.MessageOnly, 1_000_000),
		Usable:               r.Usable,
		UsableReason:         reason(r.UsableReason),
		Behaviors:            r.Behaviors,
		ControlFailedAt:      r.ControlFailedAt,
		TasksHour:            writeTime(r.TasksHour),
	}
	s.TasksPerHour, s.RequestedTasksPerHour = writeHours(r.Tasks), writeHours(r.RequestedTasks)
	for _, n := range s.TasksPerHour {
		s.TasksLast24h += n
	}
	if len(s.TasksPerHour) == 0 {
		s.TasksHour = nil
	}
	if s.Last == 0 && s.LastTime == nil && s.TasksHour == nil {
		return nil
	}
	return s
}

func readHours(hours []int32) []int {
	var out []int
	for _, n := range hours {
		out = append(out, int(n))
	}
	return out
}

// writeHours leaves trailing hours without a task out.
func writeHours(hours []int) []int32 {
	var out []int32
	for i, n := range hours[:min(len(hours), maxHours)] {
		if n > 0 {
			out = append(out, make([]int32, i+1-len(out))...)
			out[i] = count(n, 1_000_000)
		}
	}
	return out
}

// writeTime cuts to the whole second that the API server keeps, so that what is known and what is written stay equal.
func writeTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

func readTime(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// count fits a number into what the schema allows.
func count(n, most int) int32 { return int32(min(max(n, 0), most)) }

// reason lets a constant through. Anything else is a fault of ours that must not make the whole status refused.
func reason(r trust.Reason) trustv1alpha1.Reason {
	if r == "" {
		return ""
	}
	for i, c := range []byte(r) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return trustv1alpha1.Reason(trust.ReasonInternal)
		}
	}
	return trustv1alpha1.Reason(cut(string(r), maxReason))
}

func reasons(list []trust.Reason) []trustv1alpha1.Reason {
	var out []trustv1alpha1.Reason
	for _, r := range list[:min(len(list), maxWarnings)] {
		out = append(out, reason(r))
	}
	return out
}

func convert[T, S ~string](list []S) []T {
	var out []T
	for _, s := range list {
		out = append(out, T(s))
	}
	return out
}

// cut bounds a text to n characters, whole ones.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func cutAll(list []string, most, length int) []string {
	var out []string
	for _, s := range list[:min(len(list), most)] {
		out = append(out, cut(s, length))
	}
	return out
}
