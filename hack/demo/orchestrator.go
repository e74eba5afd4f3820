package main

import (
	"context"
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// orchestrate is the sample orchestrator: it reads the decision from the AgentPeer and takes the path that it names.
func orchestrate(ctx context.Context, c *caller, p peer, o *v1alpha1.AgentPeer) ending {
	d := client.Decide(o, time.Now())
	if d.Path == v1alpha1.PathUnavailable {
		return ending{how: "does not call: " + string(d.Reason)}
	}
	text, reply := "ping", ""
	switch p.errand {
	case "ask":
		if text, reply = "book a trip", "to Oslo"; d.MultiTurn != v1alpha1.MultiTurnInteractive {
			// A reply might not reach the task, so everything is said at once.
			text, reply = "book a trip to Oslo", ""
		}
	case "cancel":
		if d.Cancel == v1alpha1.CancelReliable {
			return c.cancels(ctx)
		}
		// Work that nothing could stop is not begun; a short question is.
	}
	s, err := c.turn(ctx, d.Path, text, seen{})
	if err == nil && s.state == lifecycle.InputRequired && reply != "" {
		s, err = c.turn(ctx, d.Path, reply, s)
	}
	how := fmt.Sprintf("%s, %s: ", d.Path, d.MultiTurn)
	switch {
	case err != nil:
		return ending{how: how + err.Error()}
	case !s.over():
		return ending{how: how + "ends at " + string(s.state)}
	}
	return ending{how: how + done(s), ok: true}
}

// turn says one thing on the path that was decided and follows it to its end. On either path the task itself has the last word:
// a stream that ends early is followed by GetTask.
func (c *caller) turn(ctx context.Context, path v1alpha1.DecisionPath, text string, before seen) (s seen, err error) {
	m := c.message(text, before.taskID, before.contextID)
	if path == v1alpha1.PathStreaming {
		s, err = c.follow(ctx, m, nil)
	} else {
		s, err = c.send(ctx, m)
	}
	if err != nil || s.taskID == "" {
		return s, err
	}
	return c.poll(ctx, s)
}

// cancels begins long work and ends it.
func (c *caller) cancels(ctx context.Context) ending {
	s, err := c.send(ctx, c.message("count to 1000 slowly", "", ""))
	if err == nil {
		_, err = c.rpc.CancelTask(ctx, s.taskID)
	}
	if err == nil {
		s, err = c.poll(ctx, s)
	}
	return ending{how: "cancels: " + done(s), ok: err == nil}
}
