package controllers

import (
	"slices"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
)

// maxInterfaceURL is how long the address of a declared interface may be to be listed. The one in use has more room.
const maxInterfaceURL = 512

func cardInterface(in card.Interface, longest int) trustv1alpha1.CardInterface {
	out := trustv1alpha1.CardInterface{Binding: cut(in.Binding, 64), ProtocolVersion: cut(in.ProtocolVersion, 16)}
	if in.URL != nil && len(in.URL.String()) <= longest {
		out.URL = in.URL.String()
	}
	return out
}

// listed is how an interface stands in the list. What we neither ask nor may ask is the peer's text and nobody's way to it: its address is
// left out, and a binding that is none of the protocol's is "Other" (design 4.10).
func listed(r probe.InterfaceReport) trustv1alpha1.CardInterface {
	in := r.Interface
	if !card.Binding(in.Binding) {
		in.Binding = otherBinding
	}
	if r.State == probe.InterfaceNotSpoken || r.State == probe.InterfaceNotAllowed {
		in.URL = nil
	}
	return cardInterface(in, maxInterfaceURL)
}

// otherBinding stands for a binding that no generation names.
const otherBinding = "Other"

// declaredInterfaces lays what a round saw of each interface over what was known. Most rounds ask the one in use only, and trouble that was
// seen once is nothing learned: there what was known stays, so that nothing is written for it.
func declaredInterfaces(old []trustv1alpha1.DeclaredInterface, seen []probe.InterfaceReport) []trustv1alpha1.DeclaredInterface {
	used := slices.ContainsFunc(seen, func(r probe.InterfaceReport) bool { return r.State == probe.InterfaceUsed })
	var out []trustv1alpha1.DeclaredInterface
	for _, r := range seen[:min(len(seen), trustv1alpha1.MaxInterfaces)] {
		next := trustv1alpha1.DeclaredInterface{
			CardInterface: listed(r),
			State:         trustv1alpha1.InterfaceState(r.State),
			Reason:        reason(r.Reason),
			Spoken:        cut(r.Spoken, 16),
		}
		if r.State == probe.InterfaceUnknown || finding(next.State) && !r.Confirmed {
			next = lastKnown(old, next, used)
		}
		out = append(out, next)
	}
	return out
}

// lastKnown is what was known of an interface of which nothing was learned now.
func lastKnown(old []trustv1alpha1.DeclaredInterface, now trustv1alpha1.DeclaredInterface, anotherIsUsed bool) trustv1alpha1.DeclaredInterface {
	i := slices.IndexFunc(old, func(d trustv1alpha1.DeclaredInterface) bool { return d.CardInterface == now.CardInterface })
	if i >= 0 && (old[i].State != trustv1alpha1.InterfaceUsed || !anotherIsUsed) {
		return old[i]
	}
	return trustv1alpha1.DeclaredInterface{CardInterface: now.CardInterface, State: trustv1alpha1.InterfaceUnknown, Reason: now.Reason}
}

func finding(s trustv1alpha1.InterfaceState) bool {
	return s == trustv1alpha1.InterfaceUnreachable || s == trustv1alpha1.InterfaceMismatch
}

// warnOfInterfaces adds the warnings that the listed interfaces give cause for, sorted and bounded.
func warnOfInterfaces(list []trustv1alpha1.Reason, interfaces []trustv1alpha1.DeclaredInterface) []trustv1alpha1.Reason {
	for _, d := range interfaces {
		switch d.State {
		case trustv1alpha1.InterfaceUnreachable:
			list = append(list, trustv1alpha1.WarningInterfaceUnreachable)
		case trustv1alpha1.InterfaceMismatch:
			list = append(list, trustv1alpha1.WarningInterfaceMismatch)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), trustv1alpha1.MaxCardWarnings)]
}
