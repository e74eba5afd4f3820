package fleet

import (
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/proxy"
)

// Peer is one member of a fleet.
type Peer struct {
	// Name is unique in its fleet and says what is special.
	Name string
	// SDK names a server of test/sdk; empty: a scripted agent made of Agent.
	SDK   string
	Agent []agent.Option
	// Next is what a deploy brings: the SDK server, or the options besides Agent's. Nil and empty: the same again, with a store of its own.
	NextSDK string
	Next    []agent.Option
	// Work is how long a short task takes on a stream, so that streams are cut while it lasts.
	Work time.Duration
	// Path is what the way to this peer does all the time. Troubled says that this is a fault, so that every round counts as one with
	// faults.
	Path     proxy.Fault
	Troubled bool
	// Really is what a released SDK really does wrong, for which an otherwise honest peer is demoted rightly; it is a liar of its own too.
	Really trust.Reason
	// Lie is what a liar lies about; nil for honest peers.
	Lie *Lie
}

// Lie is one lie and what is to come of it.
type Lie struct {
	// Tells are the options that make the agent lie.
	Tells []agent.Option
	// About is the capability to be demoted, for one of these reasons.
	About   trust.Capability
	Reasons []trust.Reason
	// Also are reasons for which other capabilities may be demoted too: the lie breaks their rules as well.
	Also []trust.Reason
	// NowAndThen: the lie is told by chance or in turn, so that it takes up to a day to tell it from bad luck.
	NowAndThen bool
	// Hidden says why probing cannot show the lie; empty if it can. What becomes of such peers is counted apart.
	Hidden string
	// Spares tells whom the agent behaves to: requests that carry this in their headers or bodies reach an honest twin.
	Spares string
}
