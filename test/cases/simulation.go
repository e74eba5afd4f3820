package main

import (
	"context"
	"fmt"

	"github.com/agentpeer/agentpeer/test/simulate"
)

// runSimulation lets the trust machine live alone.
func runSimulation(ctx context.Context, o options, r *report) error {
	r.say("simulation: %d peer-days", o.peerDays)
	res, err := simulate.Run(ctx, simulate.Options{Seed: o.seed, PeerDays: o.peerDays, Only: o.only})
	if err != nil {
		return err
	}
	x := row{what: "simulated profiles"}
	for _, p := range res.Profiles {
		if passed(p.Count) {
			x.passed++
			continue
		}
		x.failed++
		r.note(fmt.Sprintf("simulation: %s: %d false demotions, %d missed, %d for a wrong reason, %d laws broken", p.Name, p.FalseDemotions, p.Missed,
			p.WrongReason, p.Broken))
	}
	if x.failed > 0 {
		for _, n := range res.Notes {
			r.note("simulation: " + n)
		}
	}
	x.words = fmt.Sprintf("%.0f peer-days, %d rounds; %d false demotions, fewer than %.5f a day, 95 %% sure; %d of %d lies missed", res.Total.Days,
		res.Total.Rounds, res.Total.FalseDemotions, res.Total.UpperBound, res.Total.Missed, res.Total.Lies)
	r.add(x)
	r.objects = append(r.objects, map[string]any{"layer": "simulation", "seed": res.Seed, "fleets": res.Fleets})
	return nil
}

// passed says that nothing went wrong in the lives of a profile.
func passed(c simulate.Count) bool {
	return c.Broken == 0 && c.FalseDemotions == 0 && c.Missed == 0 && c.WrongReason == 0 && c.NotLifted == 0 && c.NeedlessLapses == 0
}
