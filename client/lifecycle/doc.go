// Package lifecycle holds the rules of an A2A task's life, for probers and orchestrators alike. It is pure and needs the
// standard library only: states and times go in, decisions and typed errors come out; nothing is sent, nothing waits.
//
// The idea behind it: an agent card is a declaration, the states of a task are an observation, and nothing binds the two.
// Trust the card for routing, trust only observed transitions for lifecycle. An ObservedTask keeps what was really seen:
//
//	task := lifecycle.ObservedTask{ID: id, Promise: cardDeclaresHistory, GapFree: true}
//	state, _ := lifecycle.ParseState(raw)
//	err := task.Record(state)                  // a rule broken, or nil
//	if task.Allows(lifecycle.FollowUp) { ... } // checked against what was seen, not against the card
//	advice, err := task.Due(time.Now(), lifecycle.Deadlines{})
//
// # States
//
//	           active                interrupted                terminal
//	  submitted --> working <--> input-required, auth-required
//	      |            |                 |
//	      +------------+-----------------+------> completed, canceled, failed, rejected
//
//	unknown carries no information and is not recorded.
//
// The picture shows an ordinary life and is no norm: no generation of the protocol defines a graph of transitions.
// Skipping submitted or working, beginning at completed or input-required, and going back to working are all legal. One
// thing is ruled out everywhere: leaving a terminal state.
//
// # Card and observation
//
//	no state but submitted seen     the card is a hint          a new id in answer to a follow-up is another task
//	anything else seen              the observed history rules  after working or input-required it is a divergence
//
// The card narrows what may come next (Candidates), the states seen validate it (Record), and on a mismatch the client
// downgrades or aborts (OnMismatch). Two questions are kept apart: what a client does now about its task
// (FollowUpAnswered, Due), and whose fault it was (BlameContinuation), which is stricter, since it costs a peer its
// trust.
//
// A third is asked after a cancel: whether the task works on all the same (Orphaned).
//
// # Errors
//
// AgentCardDivergenceError says that a declaration and an observation contradict each other, AgentCardContractViolation
// that a rule of the lifecycle was broken; the second is also found as the first. Their Basis says what was contradicted.
// Only Card and Protocol speak against a peer: Deadline is our own expectation, and Behaviour is merely odd.
//
// # Trade-offs made on purpose
//
//   - Record keeps a state even if it breaks a rule: history is evidence.
//   - The zero values accuse nobody: without Promise, GapFree or evidence every doubt is decided for the peer.
//   - An ObservedTask has no lock. One goroutine follows a task; a ledger locks its entries anyway.
package lifecycle
