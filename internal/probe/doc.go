// Package probe asks a peer questions and reports what came back. Target in, report out: it needs no Kubernetes.
//
// Run runs one round: it reads the card (fetch.go), finds an interface that it may ask and that answers (origin.go, reach.go), and asks
// the questions of the table in questions.go, one file per capability. The Runner (runner.go) runs rounds in the background,
// so that no namespace waits behind another (runner_lines.go).
//
// # Measuring and judging
//
// Measuring writes a tape (tape.go): every event of a stream, every answer of GetTask and CancelTask, with offsets from the request. One
// loop (watch.go) follows a stream; what a probe wants of it is a step, a function that looks at the tape and says what to do next. Judges
// (the files named _judge) read tapes, know no clock and no network, and yield observations. Only package trust makes verdicts of those.
//
//	question       measures                                          judge
//	Streaming      streaming.go, with the frame around a stream      streaming_judge.go
//	TaskRetrieval  the same exchange, and retrieval.go               retrieval_judge.go, limits_judge.go
//	Lifecycle      the same exchange, and Cancellation's task        lifecycle_judge.go
//	Cancellation   cancellation.go, by long.go where it streams      cancellation_judge.go
//	Resubscription long.go, Cancellation's task                      resubscription_judge.go
//	Continuation   continuation.go                                   continuation_judge.go
//	Push           push.go, its receiver's side webhook.go, selfcall.go push_judge.go
//	InputModes     inputmodes.go, with what others say too           inputmodes_judge.go
//	ExtendedCard   extendedcard.go, without a task                   extendedcard_judge.go
//
// StateTransitionHistory has no question: it has no normative observable. Being declared it switches on rules of Continuation.
//
// # What is shared
//
// Tasks cost money, so one run answers two questions where it can be kept clean. The ordinary message, begun by Streaming, tells of
// TaskRetrieval, Lifecycle and its own input mode. A long task on a stream tells of Cancellation, Resubscription (a second stream listens) and
// Lifecycle; by a unary call, of Cancellation and of a send that is to return at once. Continuation's dialogue tells of the input mode of its
// reply and, its history being the longest, of history limits. Each observation says what its question sent; costs are worst cases with
// nothing shared (docs/decisions/probe-sharing.md).
//
// Every task id that is read from an answer goes through identity.go first, which gives a task one name however a gateway on the way calls
// it, where Target.Identity says what tells tasks apart; tapes and judges compare names. interfaces.go asks the interfaces that are not in
// use. errand.go names what an exchange is for, and expected.go what each question expects, for those who want to see the evidence.
//
// # Rules
//
// Whatever is not listed as a divergence is none. What the network, HTTP or somebody on the way does is Inconclusive (failure.go), and so is
// everything read after we hung up. A stream that contradicts is framed by a single-shot control and a second stream. A refusal is asked
// again on a new connection. Before a contradiction that may demote is reported, the card is read again.
//
// No text of the peer's leaves this package: observations hold states, codes, counts and offsets, and a task id only if it fits the safe
// alphabet.
//
// # Trade-offs made on purpose
//
// Questions are asked one after another: a round is slower and a peer sees one task of ours at a time. A stream is drained to its end or
// to the task's deadline; only a proper end, or an end that GetTask has shown for long enough, lets us leave earlier. Time is real time, so
// tests run against real agents with short timings.
package probe
