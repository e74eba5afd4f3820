package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// watch shows the verdicts until every expected one is there.
func (d *stage) watch(ctx context.Context) error {
	start, last, drawn := time.Now(), "", 0
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		now, missing, err := d.statuses(ctx)
		if err != nil {
			return err
		}
		text := table(d.peers, now)
		switch {
		case isTerminal(d.out):
			if drawn > 0 {
				fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", drawn)
			}
			text = fmt.Sprintf("%s  %.0f s, %d verdicts to come\n", text, time.Since(start).Seconds(), len(missing))
			fmt.Fprint(d.out, text)
			drawn = strings.Count(text, "\n")
		case text != last && (len(missing) == 0 || last == "" || int(time.Since(start).Seconds())%5 == 0):
			fmt.Fprintf(d.out, "after %.0f s:\n%s\n", time.Since(start).Seconds(), text)
			last = text
		}
		if len(missing) == 0 {
			fmt.Fprintf(d.out, "\nAll verdicts are in after %.0f s.\n", time.Since(start).Seconds())
			return nil
		}
		if time.Since(start) > settleWithin {
			return fmt.Errorf("waiting for verdicts: after %s still not there:\n  %s", settleWithin, strings.Join(missing, "\n  "))
		}
		select {
		case <-tick.C:
		case <-d.operator.ended:
			return fmt.Errorf("waiting for verdicts: the operator ended: %w\n%s", d.operator.err, tail(d.work+"/operator.log"))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// statuses reads every AgentPeer, and says which verdicts are missing.
func (d *stage) statuses(ctx context.Context) (map[string]*v1alpha1.AgentPeer, []string, error) {
	var list v1alpha1.AgentPeerList
	if err := d.api.List(ctx, &list, client.InNamespace(peerNamespace)); err != nil {
		return nil, nil, fmt.Errorf("listing AgentPeers: %w", err)
	}
	now := map[string]*v1alpha1.AgentPeer{}
	for i := range list.Items {
		now[list.Items[i].Name] = &list.Items[i]
	}
	var missing []string
	for _, p := range d.peers {
		if o := now[p.name()]; o != nil {
			missing = append(missing, p.missing(&o.Status)...)
		}
	}
	return now, missing, nil
}

// columns of the table besides name and path.
var columns = []v1alpha1.CapabilityName{
	v1alpha1.CapabilityStreaming, v1alpha1.CapabilityTaskRetrieval, v1alpha1.CapabilityLifecycle,
	v1alpha1.CapabilityCancellation, v1alpha1.CapabilityContinuation, v1alpha1.CapabilityPushNotifications,
}

func table(peers []peer, now map[string]*v1alpha1.AgentPeer) string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprint(t, "PEER\tPATH\tMULTI-TURN\tCANCEL")
	for _, c := range columns {
		fmt.Fprintf(t, "\t%s", strings.TrimSuffix(strings.ToUpper(string(c)), "NOTIFICATIONS"))
	}
	fmt.Fprintln(t)
	for _, p := range peers {
		s := &v1alpha1.AgentPeerStatus{}
		if o := now[p.name()]; o != nil {
			s = &o.Status
		}
		path, multi, cancel := "-", "-", "-"
		if s.Decision != nil {
			path, multi, cancel = string(s.Decision.Path), string(s.Decision.MultiTurn), string(s.Decision.Cancel)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s", p.name(), path, multi, cancel)
		for _, c := range columns {
			state := "-"
			if cs := capability(s, c); cs != nil && cs.Reason != v1alpha1.ReasonNotDeclared {
				state = string(cs.State)
			}
			fmt.Fprintf(t, "\t%s", state)
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
	return b.String()
}

// explain prints what each agent is and, where it was demoted, the evidence.
func (d *stage) explain(ctx context.Context) error {
	now, _, err := d.statuses(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(d.out, "\nWho they are, and what was seen:")
	for _, p := range d.peers {
		fmt.Fprintf(d.out, "\n  %s: %s\n", p.name(), p.says)
		for _, c := range now[p.name()].Status.Capabilities {
			if c.State == v1alpha1.Demoted {
				fmt.Fprintf(d.out, "    %s %s: %s\n", c.Name, c.Reason, c.Message)
				if len(c.Observed) > 0 {
					fmt.Fprintf(d.out, "      %s\n", strings.Join(c.Observed, "  "))
				}
			}
		}
	}
	return nil
}
