package fleet

import (
	"slices"
	"time"

	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// Liars are the peers that must be demoted. What each of them tells is an option of test/agent; in everything else they are honest.
func Liars() []Peer {
	var all []Peer
	liar := func(name string, about trust.Capability, reasons []trust.Reason, gens []agent.Generation, tells ...agent.Option) {
		if about == trust.Streaming {
			reasons = append(slices.Clone(reasons), trust.ReasonStreamIntermittent) // where faults left it to a comparison with controls
		}
		for _, g := range gens {
			all = append(all, Peer{
				Name: name + " " + string(g), Agent: []agent.Option{agent.Speaks(g)},
				Lie: &Lie{Tells: tells, About: about, Reasons: reasons},
			})
		}
	}
	is := func(names ...string) agent.Option { return agent.Is(names...) }
	why := func(r ...trust.Reason) []trust.Reason { return r }
	any3 := []agent.Generation{agent.V10, agent.V03, agent.V01}
	new2 := []agent.Generation{agent.V10, agent.V03}
	one := []agent.Generation{agent.V10}

	// Streams that lie.
	liar("empty-stream", trust.Streaming, why(trust.ReasonStreamEmpty), any3, is("empty-stream"))
	liar("withheld-end", trust.Streaming, why(trust.ReasonStreamClosedWithoutTerminalState), any3, is("withheld-end"))
	// Where a proxy cuts the open stream in good order, its end is what shows the lie.
	liar("withheld-end-open", trust.Streaming, why(trust.ReasonStreamStateDivergesFromTask, trust.ReasonStreamClosedWithoutTerminalState), new2, is("withheld-end-open"))
	liar("withheld-question", trust.Streaming,
		why(trust.ReasonStreamStateDivergesFromTask, trust.ReasonStreamClosedWithoutTerminalState), one, is("withheld-question"))
	liar("many-messages", trust.Streaming, why(trust.ReasonStreamShapeViolation), one, is("many-messages"))
	liar("refuses-stream", trust.Streaming, why(trust.ReasonStreamingRefused), any3, is("refuses-stream"))
	liar("refuses-stream-sse", trust.Streaming, why(trust.ReasonStreamingRefused), new2, is("refuses-stream-sse"))
	liar("stream-unknown", trust.Streaming, why(trust.ReasonStreamingRefused), new2, is("stream-unknown"))
	liar("unary-stream", trust.Streaming, why(trust.ReasonUnaryAnswerToStream), new2, is("unary-stream"))
	liar("ndjson", trust.Streaming, why(trust.ReasonWrongStreamMediaType), new2, is("ndjson"))
	liar("wrong-media-type", trust.Streaming, why(trust.ReasonWrongStreamMediaType), one, is("wrong-media-type"))
	liar("foreign-task", trust.Streaming, why(trust.ReasonForeignTaskInStream), new2, is("foreign-task"))
	liar("mcp", trust.Streaming, why(trust.ReasonMethodNotFound), one, is("mcp"))

	// Generations that are not what the card says.
	liar("card-10-wire-03", trust.Streaming, why(trust.ReasonProtocolGenerationMismatch), one,
		agent.With(func(c *agent.Config) { c.Card.Generation, c.Generation = agent.V10, agent.V03 }))
	liar("card-03-wire-01", trust.Streaming, why(trust.ReasonProtocolGenerationMismatch), new2[1:],
		agent.With(func(c *agent.Config) { c.Card.Generation, c.Generation = agent.V03, agent.V01 }))
	liar("card-03-wire-10", trust.Streaming, why(trust.ReasonProtocolGenerationMismatch), new2[1:],
		agent.With(func(c *agent.Config) { c.Card.Generation, c.Generation = agent.V03, agent.V10 }))

	// Cancels.
	liar("zombie-cancel", trust.Cancellation, why(trust.ReasonEventsAfterCancel), any3, is("zombie-cancel"))
	liar("zombie-working", trust.Cancellation, why(trust.ReasonEventsAfterCancel), one, is("zombie-working"))
	all[len(all)-1].Lie.Also = why(trust.ReasonTerminalStateNotFinal) // it says canceled and then working
	liar("cancel-unknown", trust.Cancellation, why(trust.ReasonCancelRefused), any3, is("cancel-unknown"))

	// Follow-ups.
	liar("follow-up-new-id", trust.Continuation, why(trust.ReasonTaskIDChangedOnContinuation), any3, is("follow-up-new-id"))
	liar("follow-up-refused", trust.Continuation, why(trust.ReasonContinuationRefused), new2, is("follow-up-refused"))
	liar("founding-third", trust.Continuation, why(trust.ReasonTaskIDChangedOnContinuation), []agent.Generation{agent.V01}, is("founding-third", "history"))

	// Stores.
	slow := agent.Latency(0, 1500*time.Millisecond)
	liar("get-not-found", trust.TaskRetrieval, why(trust.ReasonTaskNotRetrievable), any3, is("get-not-found"), slow)
	liar("get-other-id", trust.TaskRetrieval, why(trust.ReasonTaskIDMismatch), new2, is("get-other-id"))

	// What cards declare besides.
	liar("push-silent", trust.PushNotifications, why(trust.ReasonPushNotDelivered), new2, is("push-silent"))
	all = append(all, Peer{Name: muteSDK + ", as it is", SDK: muteSDK, Lie: &Lie{About: trust.PushNotifications, Reasons: why(trust.ReasonPushNotDelivered)}})
	liar("push-unsupported", trust.PushNotifications, why(trust.ReasonPushConfigRefused), new2, is("push-unsupported"))
	liar("push-token-only", trust.PushNotifications, why(trust.ReasonPushUnauthenticated), one, is("push-token-only"))
	liar("declares-extended", trust.ExtendedAgentCard, why(trust.ReasonExtendedCardNotConfigured, trust.ReasonExtendedCardRefused), one, is("declares-extended"))
	liar("no-resubscribe", trust.Resubscription, why(trust.ReasonResubscriptionRefused), one, is("no-resubscribe"))

	// Over other bindings.
	for _, binding := range []string{"rest", "grpc-only"} {
		liar("empty-stream over "+binding, trust.Streaming, why(trust.ReasonStreamEmpty), one, is("empty-stream"))
		liar("withheld-end over "+binding, trust.Streaming, why(trust.ReasonStreamClosedWithoutTerminalState), one, is("withheld-end"))
		liar("zombie-cancel over "+binding, trust.Cancellation, why(trust.ReasonEventsAfterCancel), one, is("zombie-cancel"))
		liar("follow-up-new-id over "+binding, trust.Continuation, why(trust.ReasonTaskIDChangedOnContinuation), one, is("follow-up-new-id"))
		for i := len(all) - 4; i < len(all); i++ {
			all[i].Agent = append(all[i].Agent, is(binding))
		}
	}

	// Ends that are none.
	liar("leaves-terminal", trust.Lifecycle, why(trust.ReasonTerminalStateNotFinal), any3, is("leaves-terminal"))
	liar("artifact-after-end", trust.Lifecycle, why(trust.ReasonEventsAfterTerminal), one, is("artifact-after-end"))
	liar("second-end", trust.Lifecycle, why(trust.ReasonTerminalStateNotFinal), new2, is("second-end"))
	liar("completes-after-all", trust.Lifecycle, why(trust.ReasonTerminalStateNotFinal), one, agent.With(func(c *agent.Config) {
		c.Cancel.Revives = agent.Duration(60 * time.Millisecond)
	}))

	// Now and then.
	now := func(name string, reasons []trust.Reason, tell func(*agent.StreamConfig), hidden string) {
		all = append(all, Peer{Name: name, Lie: &Lie{About: trust.Streaming, NowAndThen: true, Reasons: append(reasons, trust.ReasonStreamIntermittent), Hidden: hidden,
			Tells: []agent.Option{agent.With(func(c *agent.Config) { tell(&c.Stream) })}}})
	}
	now("one empty stream in three", why(trust.ReasonStreamEmpty), func(c *agent.StreamConfig) { c.Empty, c.Every = true, 3 }, "")
	now("one empty stream in two", why(trust.ReasonStreamEmpty), func(c *agent.StreamConfig) { c.Empty, c.Every = true, 2 }, "")
	now("one withheld end in three", why(trust.ReasonStreamClosedWithoutTerminalState),
		func(c *agent.StreamConfig) { c.Withhold, c.Every = []string{"completed"}, 3 }, "")
	now("one empty stream in ten", why(trust.ReasonStreamEmpty), func(c *agent.StreamConfig) { c.Empty, c.Every = true, 10 },
		"one stream in ten is too rare to be told from chance by the tasks of a day")

	// What knows us and behaves. Lies that no probe can see, since design 4.9 wants probes to be known.
	for name, mark := range map[string]string{"spares our user agent": UserAgent, "spares our mark": probe.MarkKey} {
		all = append(all, Peer{Name: "empty-stream, " + name, Lie: &Lie{
			Tells: []agent.Option{is("empty-stream")}, About: trust.Streaming, Reasons: why(trust.ReasonStreamEmpty), Spares: mark,
			Hidden: "it knows our probes and behaves to them",
		}})
	}
	all = append(all, Peer{Name: "zombie-cancel, spares our user agent", Lie: &Lie{
		Tells: []agent.Option{is("zombie-cancel")}, About: trust.Cancellation, Reasons: why(trust.ReasonEventsAfterCancel), Spares: UserAgent,
		Hidden: "it knows our probes and behaves to them",
	}})
	return all
}
