// Package controllers is the Kubernetes side of the operator: it reads an AgentPeer, its Secrets and its Service, hands
// due rounds to the Runner, and writes what the Runner found as status.
//
// The path of an AgentPeer, in the order of the files:
//
//   - agentpeer_controller.go: Reconcile, the story. It talks to the API server only and returns in milliseconds.
//   - agentpeer_target.go: spec, Secrets and Service in; a probe.Target or a Fault out.
//   - agentpeer_effective.go: spec and operator configuration in; the settings that hold out. Pure.
//   - agentpeer_judge.go: everything known in; the next status and what to do next out. Pure.
//   - agentpeer_status.go: status to trust.Peer and back, without loss. Pure.
//   - agentpeer_conditions.go: facts in, conditions out. Pure.
//   - agentpeer_memory.go: what was folded and did not need to be written.
//   - agentpeer_metrics.go: what is counted.
//   - agentpeer_setup.go: watches, predicates, options.
//
// Trade-offs made on purpose:
//
//   - Status is the only database. A cheap round that changes no meaning lives in memory alone: a restart forgets it, and
//     at worst a peer that is out of reach is noticed two cheap rounds later.
//   - Rounds are folded by counting (generation and round number), never by comparing times, which the API server
//     rounds to seconds.
//   - Secrets are read when a round is due and never watched or cached, so the operator needs no right to list them. A
//     missing one is therefore noticed by asking again, every 2 s to 2 min.
//   - There is no finalizer: nothing outside of this process has to be cleaned up.
package controllers
