package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentpeer/agentpeer/test/fleet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "cases:", err)
		os.Exit(2)
	case failed > 0:
		os.Exit(1)
	}
}

// options of a run.
type options struct {
	layer string
	seed  uint64
	// quick runs a few peers for a few minutes of wall time in all.
	quick, verbose bool
	only, fault    string
	budget         time.Duration
	days           float64
	peerDays       int
	atOnce         int
}

// layers in the order in which they run.
var layers = []struct {
	name string
	run  func(context.Context, options, *report) error
}{
	{"cases", runCases},
	{"fleets", runFleets},
	{"simulation", runSimulation},
}

// run runs the layers that are asked for and says how many things failed. An error means that a layer could not be run.
func run(ctx context.Context, args []string, out, progress io.Writer) (failed int, err error) {
	o, err := parse(args, progress)
	if err != nil {
		return 0, err
	}
	r := &report{out: out, progress: progress, begun: time.Now()}
	r.say("seed %d", o.seed)
	for _, l := range layers {
		if o.layer != "all" && o.layer != l.name {
			continue
		}
		if err := l.run(ctx, o, r); err != nil {
			return 0, fmt.Errorf("layer %q: %w", l.name, err)
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	r.print()
	return r.failed, nil
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("cases", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.layer, "layer", "all", "cases, fleets, simulation or all")
	f.Uint64Var(&o.seed, "seed", 0, "seed of all that is left to chance; 0: random")
	f.BoolVar(&o.quick, "quick", false, "a few peers and a few days, to see that it works")
	f.BoolVar(&o.verbose, "v", false, "print what each failed test said, and the accounts of single contradictions")
	f.StringVar(&o.only, "only", "", "fleets: peers whose name contains this; simulation: such profiles; cases: such tests")
	f.StringVar(&o.fault, "fault", "", "fleets: faults of this kind only: "+strings.Join(fleet.Faults(), ", "))
	f.DurationVar(&o.budget, "budget", 5*time.Minute, "fleets: how long each fleet may take")
	f.Float64Var(&o.days, "days", 14, "fleets: how long each peer lives at most, on its own clock")
	f.IntVar(&o.peerDays, "peer-days", 100_000, "simulation: how long all peers live together")
	f.IntVar(&o.atOnce, "at-once", 24, "fleets: rounds that run at the same time")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	case o.layer != "all" && !slices.ContainsFunc(layers, func(l struct {
		name string
		run  func(context.Context, options, *report) error
	}) bool {
		return l.name == o.layer
	}):
		return o, fmt.Errorf("-layer is %q, want cases, fleets, simulation or all", o.layer)
	case o.fault != "" && !slices.Contains(fleet.Faults(), o.fault):
		return o, fmt.Errorf("-fault is %q, want one of %s", o.fault, strings.Join(fleet.Faults(), ", "))
	}
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32()) + 1
	}
	if o.quick {
		o.budget, o.days, o.peerDays = min(o.budget, 40*time.Second), min(o.days, 1), min(o.peerDays, 3000)
	}
	return o, nil
}
