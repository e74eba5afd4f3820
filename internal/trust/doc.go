// Package trust judges: claim and observation in, trust state and decision out.
//
// Everything in it is pure. Values go in, values come out, now is an argument, and nothing is kept between calls but
// the Peer that the caller keeps. Advance folds a finished round, Lapse writes down what the clock has changed, Retarget
// starts afresh with another target, Weigh lays what orchestrators report over what is known, Schedule says when to look again and at what, Decide what an orchestrator does now,
// AllTrusted and Requirements are the facts behind conditions, Doubt names what is about to be demoted, and a Fuse tells
// our own trouble from that of the peers. docs/trust.md explains the rules and their numbers to users.
//
// # The verdict table
//
//	declared       observed        what becomes of it
//	-------------  --------------  ------------------------------------------------------------
//	Declared, or   Honored         Unverified becomes Trusted, Trusted is renewed, Demoted comes
//	a core                         a clean round nearer to being lifted
//	behaviour      Diverged, of    counts: demotes when confirmed, in its round (explicit and
//	               basis Card or   repeated) or over rounds; until then it warns, and what is
//	               Protocol        trusted stays so until its time runs out
//	               Diverged, of    warns and counts for nothing: Trusted runs on, not renewed;
//	               basis Deadline  Unverified stays so with the reason
//	               or Behaviour
//	               Inconclusive    counts for nothing; says why, and is tried again sooner where
//	                               trust would run out
//	NotDeclared    Honored         stays Unverified, with the warning UndeclaredButWorks
//	               anything else   stays Unverified: no penalty
//	(no card read) anything        stays as it was: a round without a card changes no claims
//
// # What orchestrators report
//
//	reported            by             what becomes of it
//	------------------  -------------  ---------------------------------------------------------
//	a contradiction     anybody who    brings the next round of the capability forward, and
//	                    counts         nothing else
//	Card or Protocol,   a quorum,      Demoted at once, until the first clean round begun later;
//	under the claims    first time     not counted, no least time; Unverified after a day
//	that stand, later   a quorum,      Demoted and counted, for the growing time, and rounds go
//	than the last       within a day   without the probe mark (ProbesAndReportsDisagree)
//	clean round began   of such a lift
//	good work           a quorum, and  Trusted lasts longer, up to 8 durations past the last
//	                    nobody doubts  clean round; nothing becomes Trusted
//
// # The states
//
//	                       Honored
//	     +------------+ -----------------> +------------+ --+
//	     | Unverified |                    |  Trusted   |   | Honored: renewed
//	---> |            | <----------------- |            | <-+
//	     +------------+  time ran out      +------------+
//	        |      ^     card changed         |      ^
//	        |      |     other target         |      |
//	        |      |                          |      | restoreAfter clean rounds,
//	        |      | no longer declared,      |      | not before its least time
//	        |      | or other target          |      |
//	        |      |                          v      |
//	        |      +----------------------- +------------+
//	        |                               |  Demoted   |
//	        +-----------------------------> |            |
//	           contradiction confirmed,     +------------+
//	           or reported by a quorum
//
// Trusted means: declared and seen to work, and not so long ago that it proves nothing. Unverified means: the card is a
// hint, nothing valid is known; take the safe path. Demoted means: the peer contradicts what it declares, repeatedly;
// take the other path until it mends. A user would do something different on seeing each, so these three and no more.
//
// # Trade-offs made on purpose
//
// A false demotion is the worst fault. So nothing that may be chance, the network, or ours counts: Inconclusive moves no
// streak, contradictions of one card are not held against the next, and a stream that works at times is not counted but
// compared with what the agent does elsewhere (pairs.go): within hours where its own tasks show that the agent worked, and
// within two or three days where only single-shot controls can tell.
//
// Trust is given on one honoured round. It lasts hours and costs its reader nothing worse than what trusting the card
// would have cost.
//
// Times are kept as status keeps them, in whole seconds, so that a Peer read back from status is the Peer written. The
// round that a Peer has folded last is counted, never dated: folding one twice changes nothing.
package trust
