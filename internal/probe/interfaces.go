package probe

import (
	"context"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// interfacesAtOnce bounds how many interfaces are asked side by side.
const interfacesAtOnce = 4

// interfacesBound: each interface twice, the dialects and bindings that may be spoken there instead, side by side.
func interfacesBound(t Timing) time.Duration { return 6*t.FirstEvent + t.Repeat }

// everyInterface says whether this round asks all of the card's interfaces.
func (r *round) everyInterface() bool {
	return r.job.Kind == trust.Behavior && (r.job.Interfaces || r.claims.Digest != r.job.KnownDigest)
}

// lookAtInterfaces says what became of each interface that the card declares, and asks those that nobody has asked yet if the round is one
// that does. It costs no task.
func (r *round) lookAtInterfaces(ctx context.Context, s *session) {
	if s.card == nil || len(s.card.Interfaces) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, interfacesBound(s.timing))
	defer cancel()
	declared := s.card.Interfaces[:min(len(s.card.Interfaces), MaxInterfaces)]
	list := make([]InterfaceReport, len(declared))
	var all sync.WaitGroup
	slots := make(chan struct{}, interfacesAtOnce)
	for i, in := range declared {
		list[i] = InterfaceReport{Interface: in, State: InterfaceUnknown}
		use, why := s.card.Use(in, r.job.Target.Preference)
		switch {
		case why != "":
			list[i].State, list[i].Reason = InterfaceNotSpoken, why
			continue
		case !r.job.Target.allowed(use.URL):
			list[i].State, list[i].Reason = InterfaceNotAllowed, trust.ReasonOriginNotAllowed
			continue
		case r.inUse(use):
			list[i].State = InterfaceUsed
			continue
		}
		first := s.triedBefore(use)
		if !r.everyInterface() || ctx.Err() != nil {
			if first != nil {
				list[i] = r.glance(in, *first)
			}
			continue
		}
		s.progress("asking the other interfaces of the card")
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			list[i] = s.askInterface(ctx, in, use, first)
		})
	}
	all.Wait()
	r.interfaces = list
}

// inUse: the interface that answered and that questions are asked of.
func (r *round) inUse(in card.Interface) bool {
	return r.contact.in != nil && r.reach.Outcome == trust.Honored && same(*r.contact.in, in)
}

// glance is what the search for an interface that answers has seen of one: once, unless it was a refusal, which was asked again.
func (r *round) glance(in card.Interface, c contact) InterfaceReport {
	out := InterfaceReport{Interface: in}
	out.State, out.Reason = judgeInterface(c)
	if c.refusal != nil {
		out.Spoken = string(c.spoken)
		out.Confirmed = r.refusalStands && r.contact.in != nil && same(*r.contact.in, *c.in)
	}
	return out
}

func (s *session) triedBefore(in card.Interface) *contact {
	for i := range s.tried {
		if same(*s.tried[i].in, in) {
			return &s.tried[i]
		}
	}
	return nil
}

func same(a, b card.Interface) bool {
	return a.URL.String() == b.URL.String() && a.Binding == b.Binding && a.ProtocolVersion == b.ProtocolVersion && a.Tenant == b.Tenant
}

// askInterface looks at one interface, and where that makes a finding once more, on a new connection and after Timing.Repeat. first is a
// look that was had before; nil if none was.
func (s *session) askInterface(ctx context.Context, declared, in card.Interface, first *contact) (out InterfaceReport) {
	defer func() {
		if recover() != nil {
			out = InterfaceReport{Interface: declared, State: InterfaceUnknown, Reason: trust.ReasonPanicked}
		}
	}()
	if first == nil {
		c := s.branch(s.client).contactOf(ctx, in)
		first = &c
	}
	one := InterfaceReport{Interface: declared, Spoken: string(first.spoken)}
	one.State, one.Reason = judgeInterface(*first)
	if one.State.sound() {
		return one
	}
	if !pause(ctx, s.timing.Repeat) {
		return InterfaceReport{Interface: declared, State: InterfaceUnknown, Reason: trust.ReasonProbeDeadlineExceeded}
	}
	fresh := s.client.Fresh()
	defer fresh.Close()
	b := s.branch(fresh)
	c := b.contactOf(ctx, in)
	two := InterfaceReport{Interface: declared, Spoken: string(c.spoken)}
	two.State, two.Reason = judgeInterface(c)
	if out = together(one, two); out.Confirmed && out.State == InterfaceUnreachable {
		if binding := b.otherBinding(ctx, in, out.Reason); binding != "" {
			out.State, out.Reason, out.Spoken = InterfaceMismatch, trust.ReasonProtocolBindingMismatch, string(binding)
		}
	}
	if ctx.Err() != nil {
		out.State, out.Reason, out.Confirmed = InterfaceUnknown, trust.ReasonProbeDeadlineExceeded, false
	}
	return out
}

// contactOf asks one interface for a task that cannot exist, whatever reachability asks elsewhere.
func (s *session) contactOf(ctx context.Context, in card.Interface) contact {
	s.job.CardAndTask, s.job.NoReach = true, false
	return s.tryInterface(ctx, in, "")
}

// otherBinding is the binding that answers at an interface's address in place of its own; empty if none of those over HTTP does.
func (s *session) otherBinding(ctx context.Context, in card.Interface, why trust.Reason) wire.Binding {
	if in.Binding == card.GRPC || why == trust.ReasonUnreachable || why == trust.ReasonServerError {
		return ""
	}
	for _, b := range []wire.Binding{wire.BindingJSONRPC, wire.BindingHTTPJSON} {
		if string(b) == in.Binding {
			continue
		}
		other := in
		other.Binding = string(b)
		p, err := s.openPeer(other, wire.Generation(in.Generation()))
		if err != nil {
			continue
		}
		s.rpc = p
		l := s.lookFor(ctx, newID(), time.Now())
		if l.Code == codeServer {
			continue // an error that leaves open what it means is no sign of a binding
		}
		if l.Code != codeMethodNotFound && judgeReach(l, p.Endpoint().Generation).Outcome == trust.Honored {
			return b
		}
	}
	return ""
}
