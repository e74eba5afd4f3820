package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	peerclient "github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
)

// verdict is what a card is held to at one time. It is comparable: as long as it is the same, so is the card.
type verdict struct {
	peerclient.Decision
	// extended: ExtendedAgentCard is trusted, until then.
	extended time.Time
}

// judge is the decision that everybody gets (peerclient.Decide), and none of what it trusts where the held card is not the judged one: the
// reader's clock decides, so trust ends by itself.
func judge(peer *v1alpha1.AgentPeer, judged *card.Judged, now time.Time) verdict {
	v := verdict{Decision: peerclient.Decide(peer, now)}
	if v.observed() {
		return v
	}
	if judged.Doubt != "" {
		if v.Path == v1alpha1.PathStreaming {
			v.Path = v1alpha1.PathSingleShot
		}
		v.MultiTurn, v.Cancel, v.Updates = v1alpha1.MultiTurnAllInputsUpfront, v1alpha1.CancelBestEffort, v1alpha1.UpdatesPoll
		v.Reason, v.Expiration = v1alpha1.Reason(judged.Doubt), time.Time{}
		return v
	}
	if v.Reason != peerclient.ReasonStatusOutdated && v.Reason != peerclient.ReasonNotProbed {
		v.extended = live(peer, v1alpha1.CapabilityExtendedAgentCard, now)
	}
	return v
}

// observed: mode Observe, in which the decision is what the card says.
func (v verdict) observed() bool { return v.Reason == v1alpha1.Reason(trust.ReasonObserveOnly) }

// until is the first time at which something lapses; zero if nothing does.
func (v verdict) until() time.Time {
	if v.Expiration.IsZero() || !v.extended.IsZero() && v.extended.Before(v.Expiration) {
		return v.extended
	}
	return v.Expiration
}

// live is until when a capability is trusted that no decision speaks of; zero if it is not.
func live(peer *v1alpha1.AgentPeer, name v1alpha1.CapabilityName, now time.Time) time.Time {
	for i := range peer.Status.Capabilities {
		c := &peer.Status.Capabilities[i]
		if c.Name == name && c.State == v1alpha1.Trusted && c.ExpirationTime != nil && now.Before(c.ExpirationTime.Time) {
			return c.ExpirationTime.Time
		}
	}
	return time.Time{}
}

// mask is what the card is written by.
func (v verdict) mask(peer *v1alpha1.AgentPeer) card.Verdict {
	out := card.Verdict{AsDeclared: v.observed(), Trusted: map[trust.Capability]bool{
		trust.Streaming:         v.Path == v1alpha1.PathStreaming,
		trust.PushNotifications: v.Updates == v1alpha1.UpdatesPush,
		trust.ExtendedAgentCard: !v.extended.IsZero(),
	}}
	for i := range peer.Status.Capabilities {
		out.RefusedInputModes = append(out.RefusedInputModes, peer.Status.Capabilities[i].RefusedInputModes...)
	}
	return out
}

// render writes the card. Where every interface was found dead, those that could not be reached stay: whoever calls has a path of their own to
// a peer, and finds out faster than we do.
func render(peer *v1alpha1.AgentPeer, judged *card.Judged, v verdict) (*rendered, error) {
	parsed, err := card.Parse(judged.Raw, judged.Source)
	if err != nil {
		return nil, err
	}
	how := v.mask(peer)
	how.At = judged.At
	var masked card.Masked
	for _, worst := range []v1alpha1.InterfaceState{v1alpha1.InterfaceUnreachable, v1alpha1.InterfaceMismatch, v1alpha1.InterfaceNotAllowed} {
		how.Dead = dead(peer, judged, parsed, worst)
		if masked, err = parsed.Mask(how); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	one := &rendered{peer: peer, judged: judged, verdict: v, body: masked.Body}
	h := http.Header{}
	set := func(name, value string) { h[name] = []string{value} }
	set(headerPath, string(v.Path))
	set(headerMultiTurn, string(v.MultiTurn))
	set(headerCancel, string(v.Cancel))
	set(headerUpdates, string(v.Updates))
	set(headerReason, string(v.Reason))
	set(headerMasked, names(masked.Hidden))
	if masked.Dropped > 0 { // headers are most of what a request costs
		set(headerInterfaces, strconv.Itoa(masked.Dropped))
	}
	set(headerSignatures, signatures(parsed, masked))
	set(headerCard, "current")
	if judged.Stale != "" || judged.Doubt != "" {
		set(headerCard, "last-judged")
		set(headerCardReason, string(judged.Stale))
		if judged.Stale == "" {
			set(headerCardReason, string(judged.Doubt))
		}
	}
	one.etag = etagOf(one.body, verdictText(h)...)
	for name, values := range baseHeader(one) {
		h[name] = values
	}
	if until := v.until(); !until.IsZero() { // it moves with every round, and the card does not
		set(headerExpiration, until.UTC().Format(time.RFC3339))
	}
	one.header = h
	return one, nil
}

func names(list []trust.Capability) string {
	if len(list) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(c))
	}
	return b.String()
}

func signatures(c *card.Card, m card.Masked) string {
	switch {
	case m.SignaturesDropped:
		return "dropped"
	case c.Signed:
		return "kept"
	}
	return "none"
}

// verdictText is what the ETag covers besides the card.
func verdictText(h http.Header) []string {
	var text []string
	for name, values := range h {
		text = append(text, name+": "+values[0])
	}
	slices.Sort(text)
	return text
}

func etagOf(body []byte, more ...string) string {
	h := sha256.New()
	_, _ = h.Write(body) // a hash takes everything
	for _, text := range more {
		_, _ = h.Write([]byte("\n" + text))
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}

func baseHeader(one *rendered) http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(one.body))}, "Etag": {one.etag},
		"Vary": {"Authorization"},
	}
}

// order of how bad a state is: the interfaces left out are those that are at least as bad.
var order = map[v1alpha1.InterfaceState]int{v1alpha1.InterfaceUnreachable: 1, v1alpha1.InterfaceMismatch: 2, v1alpha1.InterfaceNotAllowed: 3}

// dead tells the interfaces that are left out: those that nobody should be sent to, and those that status says are as bad as worst.
func dead(peer *v1alpha1.AgentPeer, judged *card.Judged, parsed *card.Card, worst v1alpha1.InterfaceState) func(card.Interface) bool {
	barred := map[string]bool{}
	for i, in := range parsed.Interfaces {
		if i < len(judged.Barred) && judged.Barred[i] {
			barred[in.URL.String()] = true
		}
	}
	var known []v1alpha1.DeclaredInterface
	if peer.Status.Card != nil && string(peer.Status.Card.ClaimsDigest) == judged.Digest {
		known = peer.Status.Card.Interfaces
	}
	for i, d := range known { // no address stands in status of what may not be asked
		if d.State == v1alpha1.InterfaceNotAllowed && i < len(parsed.Interfaces) && agrees(d, parsed.Interfaces[i]) {
			barred[parsed.Interfaces[i].URL.String()] = true
		}
	}
	return func(in card.Interface) bool {
		if barred[in.URL.String()] {
			return true
		}
		bad := false
		for _, d := range known {
			if d.URL != in.URL.String() || !agrees(d, in) {
				continue
			}
			if order[d.State] < order[worst] { // alive, for another tenant say
				return false
			}
			bad = true
		}
		return bad
	}
}

// agrees compares what status cuts to a length.
func agrees(d v1alpha1.DeclaredInterface, in card.Interface) bool {
	return strings.HasPrefix(in.Binding, d.Binding) && strings.HasPrefix(in.ProtocolVersion, d.ProtocolVersion)
}
