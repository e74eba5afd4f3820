package probe

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// A round in which no task ever ends leaves none behind that is neither canceled nor reported.
func TestEveryTaskThatARoundMayBeginIsCleanedUpAfter(t *testing.T) {
	most := 0
	costs, _ := Costs()
	for _, cost := range costs {
		most += cost
	}
	l := &ledger{}
	for range most {
		l.told(nil, newID(), lifecycle.Working, time.Now())
	}
	if n := len(l.left()); n != most {
		t.Errorf("of %d tasks %d would be cleaned up after", most, n)
	}
}

// heardOf is a peer that answers nothing and remembers which tasks it was asked for.
type heardOf struct {
	wire.Peer
	ids []string
}

var errNoAnswer = errors.New("no answer")

func (h *heardOf) GetTask(_ context.Context, id string, _ *int) (*wire.Answer, error) {
	h.ids = append(h.ids, id)
	return nil, errNoAnswer
}

func (h *heardOf) CancelTask(_ context.Context, id string) (*wire.Answer, error) {
	h.ids = append(h.ids, id)
	return nil, errNoAnswer
}

func (h *heardOf) Resubscribe(_ context.Context, id string) (*wire.Stream, error) {
	h.ids = append(h.ids, id)
	return nil, errNoAnswer
}

func (h *heardOf) Endpoint() wire.Endpoint { return wire.Endpoint{Generation: wire.V10} }

// Where two tasks share an id, by what tells tasks apart, the second has a name of ours. The peer is asked by the id that it gave.
func TestATaskIsAskedForByAnIDThatThePeerGave(t *testing.T) {
	t.Parallel()
	s := &session{ids: &identities{}, timing: quick(), ledger: &ledger{}}
	s.ids.name("t", "order-1")
	name := s.ids.name("t", "order-2")
	if name == "t" {
		t.Fatal("two tasks have one name")
	}
	peer := &heardOf{}
	ctx := context.Background()
	s.historyOf(ctx, peer, name, 1)
	s.pickUp(ctx, peer, name, func(*watch) (time.Duration, leave) { return 0, leftDone })
	s.ended(ctx, begun{id: name, rpc: peer})
	if len(peer.ids) == 0 || slices.ContainsFunc(peer.ids, func(id string) bool { return id != "t" }) {
		t.Errorf("asked for %q", peer.ids)
	}
}
