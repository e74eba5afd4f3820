package probe

import (
	"context"
	"fmt"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// routeMissing: nothing of the generation is there. Where a binding gives every operation a path of its own, that is what a moved endpoint,
// a gateway that routes some paths and a wrong generation look like alike.
func (l look) routeMissing() bool { return l.Fail != nil && l.Fail.Class == wire.ClassRoute }

// doubtRoute: the path of GetTask is not known. If that of the send method is, a gateway routes no task operations, or the peer has no
// protocol's word for a task that it does not know (C85). Else the endpoint is somewhere else, which accuses nobody (design 3, wire
// reference 7.1): not even where another generation's paths are, because mounts and prefixes get lost as easily as versions. The text names
// it for whoever has to mend the card.
func (s *session) doubtRoute(ctx context.Context, c *contact) {
	unknown := s.knows(ctx, s.rpc)
	switch {
	case unknown == nil:
		c.reach = honored(trust.Observation{}, "C85", "the endpoint answers; it has no A2A answer to GetTask for a task that cannot exist")
		c.reach.Warnings = []trust.Reason{trust.ReasonTaskOpsUnavailable}
	case !unknown.routeMissing():
		c.reach, c.retry = judgeReach(*unknown, c.generation), retryAfter(unknown.Fail)
	default:
		c.reach = s.noRoute(ctx, c.generation)
	}
}

// noRoute says which generation's paths are there in place of the declared ones.
func (s *session) noRoute(ctx context.Context, declared wire.Generation) trust.Observation {
	text := fmt.Sprintf("the paths of %s are not known there", declared)
	if g := s.sibling(ctx); g != "" {
		text += fmt.Sprintf("; those of %s are", g)
	}
	return unlearned(trust.Observation{Rule: "wire 7.1"}, trust.ReasonEndpointNotFound, text)
}
