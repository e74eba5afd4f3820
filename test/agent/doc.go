// Package agent is a scripted A2A agent for tests and demos: honest by default, and a liar or an oddity on request.
//
// Honest means a correct server of the generation it speaks (1.0, 0.3, 0.2 or 0.1): it keeps tasks, gives every
// stream of a task the same events in the same order, continues a task that asked for input under the same id, cancels
// running tasks, refuses messages to terminal ones, and loses nothing when a client hangs up.
//
//	a := agent.New(agent.Speaks(agent.V03), agent.Is("zombie-cancel"))
//	url := a.Start(t)
//
// What it does with a message depends on the message's text (script.go): "count ..." works long, "book ..." asks back
// unless told where to, anything else is answered with "pong". Every lie and every legal oddity is a quirk (quirks.go), a name for a setting of
// Config; quirks combine freely. Presets (presets.go) are the agents of the demo, made of quirks.
//
// What was asked of an agent and what became of its tasks can be read with Counts, Tasks and Requests, or over HTTP at
// /debug/agent. A process that serves many agents stands in cmd/agent.
//
// A binding parses requests into calls and writes their answers (jsonrpc.go, rest.go and the rest); what an agent does is
// decided below it, so a quirk holds by whatever binding it is asked for, unless it is about one binding's form.
// Config.Bindings says which the card lists.
//
// Trade-offs made on purpose: one file holds what all generations share, and generations differ only where bytes are read
// or written (render.go, params.go); the store is never purged, so agents are for processes that end.
package agent
