package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// Resume takes up an open or orphaned entry of the ledger, by its ID, after a restart or from whoever handed it over. Follow the Task with
// AwaitTerminalState, or end it with Cancel. peer is whom Entry.Peer names, and the client must speak to it. With live trust in Streaming the
// task's stream is picked up, else it is polled. An entry without a task id cannot be taken up (ErrUncertain): nobody knows what to ask for.
func (t *Tasks) Resume(ctx context.Context, client A2AClient, peer Ref, entry string, o TaskOptions) (*Task, error) {
	if client == nil {
		return nil, errors.New("resuming a task: a client is needed")
	}
	k, err := t.newTask(ctx, client, peer, o)
	if err != nil {
		return nil, err
	}
	e, err := k.ledger.follow(entry)
	if err != nil {
		return nil, fmt.Errorf("resuming a task: %w", err)
	}
	obs, err := lifecycle.Restore(e.Task)
	switch {
	case err != nil:
	case e.Peer != peer.String():
		err = fmt.Errorf("ledger entry %s is about peer %s, not %s", entry, e.Peer, peer)
	case e.TaskID == "" || obs.ID == "":
		err = fmt.Errorf("ledger entry %s: %w", entry, ErrUncertain)
	}
	if err != nil {
		k.ledger.leave(entry)
		return nil, fmt.Errorf("resuming a task: %w", err)
	}
	obs.ID = e.TaskID
	if o.Long > 0 {
		obs.Long = true
	}
	k.tenant = e.Tenant
	k.cur = &attempt{t: k, entry: entry, obs: obs, contextID: e.ContextID, backoff: firstPoll, nextPoll: time.Now()}
	k.cur.orphaned = e.Orphaned
	k.cur.saved = saved{orphaned: e.Orphaned, transitions: len(obs.History()) + obs.Dropped(), state: obs.Entry(), id: obs.ID, context: e.ContextID}
	if e.HandedTo != "" {
		k.ledger.update(ctx, entry, func(e *Entry) { e.HandedTo = "" })
	}
	if k.d.Path == v1alpha1.PathStreaming && obs.State().Active() {
		k.resubscribe()
	}
	return k, nil
}
