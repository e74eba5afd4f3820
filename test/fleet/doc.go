// Package fleet lets fleets of peers live through days of probing and counts what the prober makes of them: honest peers that must never
// be demoted, however odd they are and whatever happens on the way to them, and liars that must be, for the right reason and in time.
//
// Each peer has a world of its own (world.go). Its clock is false: trust.Schedule says when the next round is due and the clock jumps
// there. Everything else is real: probe.Run asks a real peer over real sockets, through a fault proxy (test/proxy), and trust.Advance
// folds what came back. The peers are scripted agents (test/agent) and servers on released SDKs (test/sdk), unchanged.
//
// # Time
//
// Durations are Scale times shorter than the defaults of the design, all by the same factor: those of the prober, the work of the agents,
// the delays and limits of the proxies. What the prober holds fixed (a quarter of a second after a stream's end, a tenth for the network)
// is not shorter, so the prober is stricter here than it is in the world; faults that end streams keep clear of a task's own end by more
// than that, as chance would have them do in a longer time.
//
// # Weather
//
// Before a round the world draws whether a fault is active, in two rounds of five, and which one (weather.go). A deploy or an operator's
// restart lasts longer than a round. The world knows what it drew, so rates can be told with and without faults.
package fleet
