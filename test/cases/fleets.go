package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/agentpeer/agentpeer/test/fleet"
)

// The goals of a fleet.
const (
	leastPeers         = 25
	leastFaulty        = 0.30
	leastWithoutFaults = 0.95
	leastWithFaults    = 0.50
)

// runFleets lets both fleets live, one after the other.
func runFleets(ctx context.Context, o options, r *report) error {
	for _, f := range []struct {
		name  string
		peers []fleet.Peer
	}{{"honest", fleet.Honest()}, {"liars", fleet.Liars()}} {
		peers := f.peers
		if o.quick {
			peers = fleet.Few(peers)
		}
		r.say("%s: %d peers, for %s at most", f.name, len(peers), o.budget)
		res, err := fleet.Run(ctx, f.name, peers, fleet.Options{
			Seed: o.seed, Days: o.days, Budget: o.budget, AtOnce: o.atOnce, Only: o.only, Fault: o.fault,
			Progress: func(words string) { r.say("%s", words) },
		})
		if err != nil {
			return err
		}
		judge(r, res, o)
	}
	return nil
}

// judge counts each peer, and each goal of the fleet.
func judge(r *report, res fleet.Result, o options) {
	x := row{what: res.Fleet + " peers"}
	bad := map[string]bool{}
	for _, i := range res.Incidents {
		bad[i.Peer] = true
		r.note(i.String())
	}
	x.failed = len(bad)
	x.passed = res.Peers - x.failed
	x.words = fmt.Sprintf("%.1f peer-days, %d rounds, %d with a fault, %d conclusive", res.PeerDays, res.Rounds, res.Faulty, res.Conclusive)
	r.add(x)
	all := o.only == "" && !o.quick
	if all {
		r.goal(res.Peers >= leastPeers, res.Fleet+": enough of them", fmt.Sprintf("%d peers, want %d", res.Peers, leastPeers))
	}
	if res.Rounds >= 100 {
		r.goal(res.FaultShare >= leastFaulty, res.Fleet+": faults enough", fmt.Sprintf("in %.1f %% of rounds, want %.0f %%", 100*res.FaultShare, 100*leastFaulty))
	}
	if res.Fleet == "honest" {
		r.goal(res.FalseDemotions.Count == 0, "honest: no false demotion", fmt.Sprintf(
			"%d in %.1f peer-days; fewer than %.4f a day, 95 %% sure", res.FalseDemotions.Count, res.PeerDays, res.FalseDemotions.Upper))
		if all {
			r.goal(res.WithoutFaults >= leastWithoutFaults, "honest: conclusive without faults", fmt.Sprintf("%.1f %% of rounds, want %.0f %%", 100*res.WithoutFaults, 100*leastWithoutFaults))
			r.goal(res.WithFaults >= leastWithFaults, "honest: conclusive with faults", fmt.Sprintf("%.1f %% of rounds, want %.0f %%", 100*res.WithFaults, 100*leastWithFaults))
		}
	} else {
		r.goal(res.Missed == 0, "liars: none missed", fmt.Sprintf("%d of %d lies; %g rounds to demote (median), %g at most", res.Missed, res.Trials,
			res.RoundsToDemote.Median, res.RoundsToDemote.Max))
		r.goal(res.WrongWhy == 0, "liars: for the right reason", fmt.Sprintf("%d were not; %d lies cannot be seen by probing, told below", res.WrongWhy, res.Evaded))
	}
	if o.verbose {
		for _, what := range slices.Sorted(maps.Keys(res.Near)) {
			r.note(fmt.Sprintf("%s: %d times %s", res.Fleet, res.Near[what], what))
		}
	}
	r.objects = append(r.objects, res)
}
