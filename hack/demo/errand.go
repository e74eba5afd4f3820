package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// patience is how long a client of the demo waits before we call it hung. A client that trusts cards has none.
const patience = 15 * time.Second

// caller runs one errand at one agent and remembers every task that it began.
type caller struct {
	rpc wire.Peer

	mu    sync.Mutex
	tasks []string
}

// newCaller speaks to the interface that the AgentPeer's status names.
func newCaller(ctx context.Context, o *v1alpha1.AgentPeer) (*caller, error) {
	if o.Status.Card == nil || o.Status.Card.Interface == nil {
		return nil, errors.New("no usable interface is known")
	}
	in := o.Status.Card.Interface
	u, err := url.Parse(in.URL)
	if err != nil {
		return nil, err
	}
	client, err := wire.NewClient(wire.Options{AllowHosts: []string{u.Host}, UserAgent: "agentpeer-demo"})
	if err != nil {
		return nil, err
	}
	speak := func(g wire.Generation) (wire.Peer, error) {
		return wire.Open(client, wire.Binding(in.Binding), wire.Endpoint{URL: u, Generation: g})
	}
	g := wire.V02
	switch v := in.ProtocolVersion; {
	case strings.HasPrefix(v, "1."):
		g = wire.V10
	case strings.HasPrefix(v, "0.3"):
		g = wire.V03
	}
	rpc, err := speak(g)
	if err != nil {
		return nil, err
	}
	if g == wire.V02 {
		// A card without a version is of 0.1 or of 0.2; only the methods tell them apart.
		if a, pingErr := rpc.Ping(ctx); pingErr == nil && a.Err != nil && a.Err.Code == -32601 {
			rpc, err = speak(wire.V01)
		}
	}
	return &caller{rpc: rpc}, err
}

// message says text, as a new task or as a follow-up.
func (c *caller) message(text, taskID, contextID string) wire.Message {
	if taskID == "" && c.rpc.Endpoint().Generation == wire.V01 {
		taskID = fmt.Sprintf("demo-%d", time.Now().UnixNano()) // in 0.1 the client makes the id
	}
	return wire.Message{TaskID: taskID, ContextID: contextID, Parts: []wire.Part{{Text: text}}}
}

// saw remembers a task.
func (c *caller) saw(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tasks {
		if t == id {
			return
		}
	}
	if id != "" {
		c.tasks = append(c.tasks, id)
	}
}

// leftBehind counts tasks that are still under way.
func (c *caller) leftBehind(ctx context.Context) (n int) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range c.tasks {
		a, err := c.rpc.GetTask(ctx, id, nil)
		if err == nil && a.Kind == wire.KindTask && !stateOf(a.RawState).Terminal() {
			n++
		}
	}
	return n
}

// seen is the last that was seen of a task.
type seen struct {
	taskID, contextID string
	state             lifecycle.State
	message           bool // answered with a Message: done, no task
	frames            int
}

func (s seen) over() bool { return s.message || s.state.Terminal() }

// follow reads a stream until its task ends, asks back, or the stream does.
func (c *caller) follow(ctx context.Context, m wire.Message, each func(seen)) (s seen, err error) {
	stream, err := c.rpc.SendStream(ctx, m, wire.SendConfig{})
	if err != nil {
		return s, err
	}
	defer stream.Close()
	if u := stream.Unary; u != nil {
		return c.take(s, u.Event)
	}
	for e := range stream.Events() {
		if s, err = c.take(s, e); err != nil {
			return s, err
		}
		s.frames++
		if each != nil {
			each(s)
		}
		if each == nil && (s.over() || s.state.Interrupted()) {
			return s, nil
		}
	}
	return s, ctx.Err()
}

// send is the single-shot path.
func (c *caller) send(ctx context.Context, m wire.Message) (seen, error) {
	a, err := c.rpc.Send(ctx, m, wire.SendConfig{})
	if err != nil {
		return seen{}, err
	}
	return c.take(seen{}, a.Event)
}

func (c *caller) take(s seen, e wire.Event) (seen, error) {
	if e.Err != nil {
		return s, fmt.Errorf("the agent answered with error %d", e.Err.Code)
	}
	if e.TaskID != "" {
		c.saw(e.TaskID)
		s.taskID = e.TaskID
	}
	if e.ContextID != "" {
		s.contextID = e.ContextID
	}
	if e.Kind == wire.KindMessage && s.taskID == "" {
		s.message = true
	}
	if e.RawState != "" {
		s.state = stateOf(e.RawState)
	}
	return s, nil
}

// poll asks for a task until it ends or asks back.
func (c *caller) poll(ctx context.Context, s seen) (seen, error) {
	for !s.over() && !s.state.Interrupted() {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return s, ctx.Err()
		}
		a, err := c.rpc.GetTask(ctx, s.taskID, nil)
		if err != nil {
			return s, err
		}
		if s, err = c.take(s, a.Event); err != nil {
			return s, err
		}
	}
	return s, nil
}

// stateOf a state in any generation's spelling.
func stateOf(raw string) lifecycle.State {
	s, _ := lifecycle.ParseState(raw)
	return s
}
