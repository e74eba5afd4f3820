// Package simulate lives thousands of peers' lives on fake time and counts what the trust machine made of them.
//
// It is the simulation layer of "make cases". The machine is driven by its own functions alone, as the controller drives it:
// Schedule says when to ask what, an agent that is honest, flaky or lying answers, Advance folds the round, Lapse writes what
// the clock has changed, Decide is read in between. Everything runs under the default settings (trust.DefaultPolicy), with the
// worst costs that the probes announce, and what a round then really costs. Nothing of the network or of the
// probes is in it: what an agent does stands in the profile (profiles.go) as the observation that the probes make of it.
//
//	result, err := simulate.Run(ctx, simulate.Options{PeerDays: 100_000})
//
// # What is counted
//
// A false demotion is any transition to Demoted of a capability that the peer honours, even if lifted later, of liars' other
// capabilities too. A missed divergence is a lie that was not demoted within the time that its profile allows, and wrong_reason a
// demotion with another reason than the lie's. Laws are checked all along (laws.go): no trust outlives its evidence, no 24 h
// see more tasks than the budget, no decision says Streaming without live trust.
//
// # Trade-offs made on purpose
//
// Cheap rounds that would find what the last one found are skipped: they change nothing that anything is decided by. Each life has its
// own random numbers, drawn from the seed and its place in the list, so that the result hangs on the seed alone, however
// many processors there are.
package simulate
