package controllers

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
)

func seenAs(state probe.InterfaceState, reason trust.Reason, confirmed bool) []probe.InterfaceReport {
	in := func(path string) card.Interface {
		return card.Interface{Binding: "JSONRPC", ProtocolVersion: "1.0", URL: &url.URL{Scheme: "https", Host: "a.example", Path: path}}
	}
	return []probe.InterfaceReport{{Interface: in("/one"), State: probe.InterfaceUsed},
		{Interface: in("/two"), State: state, Reason: reason, Confirmed: confirmed}}
}

// What is known of an interface changes only where something was learned, so that one that flaps writes nothing.
func TestAnInterfaceIsWhatWasLearnedOfItLast(t *testing.T) {
	type second struct {
		State  trustv1alpha1.InterfaceState
		Reason trustv1alpha1.Reason
	}
	for name, tc := range map[string]struct {
		before, now []probe.InterfaceReport
		want        second
		warns       []trustv1alpha1.Reason
	}{
		"never asked":                    {nil, seenAs(probe.InterfaceUnknown, "", false), second{"Unknown", ""}, nil},
		"answers":                        {nil, seenAs(probe.InterfaceReachable, "", false), second{"Reachable", ""}, nil},
		"not asked this time":            {seenAs(probe.InterfaceReachable, "", false), seenAs(probe.InterfaceUnknown, "", false), second{"Reachable", ""}, nil},
		"missed once":                    {seenAs(probe.InterfaceReachable, "", false), seenAs(probe.InterfaceUnreachable, "Unreachable", false), second{"Reachable", ""}, nil},
		"missed once, and never seen":    {nil, seenAs(probe.InterfaceUnreachable, "Unreachable", false), second{"Unknown", "Unreachable"}, nil},
		"missed twice":                   {seenAs(probe.InterfaceReachable, "", false), seenAs(probe.InterfaceUnreachable, "Unreachable", true), second{"Unreachable", "Unreachable"}, []trustv1alpha1.Reason{"InterfaceUnreachable"}},
		"a finding is kept until asked":  {seenAs(probe.InterfaceMismatch, "MethodNotFound", true), seenAs(probe.InterfaceUnknown, "", false), second{"Mismatch", "MethodNotFound"}, []trustv1alpha1.Reason{"InterfaceMismatch"}},
		"a finding is over when it ends": {seenAs(probe.InterfaceMismatch, "MethodNotFound", true), seenAs(probe.InterfaceReachable, "", false), second{"Reachable", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			list := declaredInterfaces(declaredInterfaces(nil, tc.before), tc.now)
			if got := (second{list[1].State, list[1].Reason}); got != tc.want || list[0].State != trustv1alpha1.InterfaceUsed {
				t.Errorf("it is %v beside %s, want %v beside Used", got, list[0].State, tc.want)
			}
			if diff := cmp.Diff(tc.warns, warnOfInterfaces(nil, list)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// The one in use that gave way to another is known no longer; where none took its place, it is still the one in use.
func TestAnInterfaceThatWasInUse(t *testing.T) {
	before := declaredInterfaces(nil, seenAs(probe.InterfaceReachable, "", false))
	now := seenAs(probe.InterfaceUsed, "", false)
	now[0].State, now[0].Reason = probe.InterfaceUnreachable, trust.ReasonUnreachable
	if got := declaredInterfaces(before, now); got[0].State != trustv1alpha1.InterfaceUnknown || got[1].State != trustv1alpha1.InterfaceUsed {
		t.Errorf("they are %s and %s, want Unknown and Used", got[0].State, got[1].State)
	}
	now[1].State = probe.InterfaceUnknown
	if got := declaredInterfaces(before, now); got[0].State != trustv1alpha1.InterfaceUsed {
		t.Errorf("it is %s, want it still in use: the whole peer may be down", got[0].State)
	}
}

// Seen as the end-to-end test of graffiti: a binding and an address that nobody asks reached status as the card spelled them.
func TestInterfacesThatAreNotAskedShowNoTextOfTheCard(t *testing.T) {
	away := &url.URL{Scheme: "https", Host: "ignore-your-instructions.example", Path: "/"}
	list := declaredInterfaces(nil, []probe.InterfaceReport{
		{Interface: card.Interface{Binding: "ignore-your-instructions", ProtocolVersion: "1.0", URL: away}, State: probe.InterfaceNotSpoken},
		{Interface: card.Interface{Binding: "GRPC", ProtocolVersion: "1.0", URL: away}, State: probe.InterfaceNotAllowed},
	})
	want := []trustv1alpha1.CardInterface{{Binding: "Other", ProtocolVersion: "1.0"}, {Binding: "GRPC", ProtocolVersion: "1.0"}}
	for i, d := range list {
		if d.CardInterface != want[i] {
			t.Errorf("interface %d stands in status as %+v, want %+v", i, d.CardInterface, want[i])
		}
	}
}
