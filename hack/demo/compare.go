package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// ending is how one client fared at one agent.
type ending struct {
	how  string // what it did and what came of it
	ok   bool
	left int // tasks left under way
}

func (e ending) String() string {
	s := e.how
	if e.left > 0 {
		s += fmt.Sprintf(", leaves %d task working", e.left)
	}
	return s
}

// compare sends both clients to every agent.
func (d *stage) compare(ctx context.Context) error {
	now, _, err := d.statuses(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nOne errand per agent, by a client that trusts the card and by an orchestrator that reads status ...\n")
	trusting, reading := make([]ending, len(d.peers)), make([]ending, len(d.peers))
	var wait sync.WaitGroup
	for i, p := range d.peers {
		wait.Go(func() { trusting[i] = run(ctx, p, now[p.name()], cardTrusting) })
		wait.Go(func() { reading[i] = run(ctx, p, now[p.name()], orchestrate) })
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}

	t := tabwriter.NewWriter(d.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\nPEER\tCLIENT THAT TRUSTS THE CARD\tORCHESTRATOR THAT READS STATUS")
	var wrong []string
	for i, p := range d.peers {
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.name(), trusting[i], reading[i])
		if trusting[i].ok == p.fails {
			wrong = append(wrong, fmt.Sprintf("%s: the card-trusting client: %s", p.name(), trusting[i]))
		}
		if !reading[i].ok || reading[i].left > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: the orchestrator: %s", p.name(), reading[i]))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("comparing the clients: not as it should be:\n  %s", strings.Join(wrong, "\n  "))
	}
	fmt.Fprintln(d.out, "\nThe orchestrator finished every errand and left no task behind.")
	// What the errands did must not have shaken an honest agent's trust.
	if _, missing, err := d.statuses(ctx); err != nil || len(missing) > 0 {
		return fmt.Errorf("looking at the verdicts again: %w %s", err, strings.Join(missing, "; "))
	}
	return nil
}

func run(ctx context.Context, p peer, o *v1alpha1.AgentPeer, client func(context.Context, *caller, peer, *v1alpha1.AgentPeer) ending) ending {
	c, err := newCaller(ctx, o)
	if err != nil {
		return ending{how: err.Error()}
	}
	defer c.rpc.Close()
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	e := client(bounded, c, p, o)
	e.how += fmt.Sprintf(" (%.1f s)", time.Since(start).Seconds())
	e.left = c.leftBehind(ctx)
	return e
}
