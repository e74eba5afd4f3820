package trust

// Warnings: findings that cost no trust. Some reasons of Diverged and Inconclusive (EventsAfterTerminal, TaskNotRetrievable,
// TaskOpsUnavailable, StreamShapeViolation, PushConfigRefused, PushUnauthenticated) warn too, where the text of a generation lets them pass.
const (
	WarnUndeclaredButWorks          Reason = "UndeclaredButWorks"              // C30
	WarnStreamNotClosed             Reason = "StreamNotClosedAfterTerminal"    // C06
	WarnFirstEventNotTask           Reason = "FirstEventNotTask"               // C10
	WarnWithoutContent              Reason = "StreamCompletedWithoutContent"   // C13
	WarnSingleBurst                 Reason = "SingleBurst"                     // C15
	WarnBufferedStream              Reason = "BufferedStream"                  // C27
	WarnUnterminatedFinalEvent      Reason = "UnterminatedFinalEvent"          // C24
	WarnTaskStoreStale              Reason = "TaskStoreStale"                  // C67
	WarnResultShapeMismatch         Reason = "ResultShapeMismatch"             // C40
	WarnStateSpelling               Reason = "StateSpelling"                   // another generation's words, or numbers
	WarnResponseIDMismatch          Reason = "ResponseIDMismatch"              // JSON-RPC id not echoed
	WarnMalformedEvents             Reason = "MalformedEvents"                 // events that are not JSON were passed over
	WarnEventsAfterFinal            Reason = "EventsAfterFinal"                // 0.x: final:true, and more came
	WarnMessageInTaskStream         Reason = "MessageInTaskStream"             // a Message among the events of a task
	WarnBlockingSendReturnedActive  Reason = "BlockingSendReturnedNonTerminal" // C45
	WarnCanceledFrameMissing        Reason = "CanceledFrameMissing"            // canceled, and the stream never said so
	WarnContinuedWithMessage        Reason = "ContinuedWithMessage"            // a Message in answer to a follow-up
	WarnReplyAnsweredWithError      Reason = "ReplyAnsweredWithError"          // an error in answer to a follow-up that was taken up all the same
	WarnContextChanged              Reason = "ContextChanged"                  // another contextId in answer to a follow-up
	WarnInputRequiredWithoutWorking Reason = "InputRequiredWithoutWorking"     // the order rule of the seeds; never demotes
	WarnResubscribable              Reason = "TaskResubscribable"              // C02: the cut stream could be picked up again
	WarnLateFramesAfterCancel       Reason = "LateFramesAfterCancel"           // a buffer's lump after a cancel
	WarnPushAuthMissing             Reason = "PushAuthMissing"                 // 0.x: called with the token alone, credentials left out (C77)
	WarnPushPayloadShape            Reason = "PushPayloadShape"                // 1.0: the body has an older shape (C78)
	WarnPushOnlyWhenStreaming       Reason = "PushOnlyWhenStreaming"           // called for streamed tasks only (C81)
	WarnPushSecretMismatch          Reason = "PushSecretMismatch"              // the webhook was called with other secrets than it was given
	WarnExtendedCardAnonymous       Reason = "ExtendedCardAnonymous"           // the extended card was given to a caller without credentials
	WarnExtendedCardContradicts     Reason = "ExtendedCardContradictsCard"     // it takes back a capability that the public card declares
	WarnHistoryNotOmitted           Reason = "HistoryNotOmitted"               // historyLength 0 and history all the same (a SHOULD)
	WarnImmediateSendWaited         Reason = "ImmediateSendWaited"             // asked to return at once, came late with the end of the task: 0.x, or others waited as well
	WarnProbedUnmarked              Reason = "ProbedUnmarked"                  // seen in a round that the peer could not tell from its users' traffic
	WarnStreamEndedWithError        Reason = "StreamEndedWithError"            // an error as the last frame after a proper end
)

// ReasonNotDeclared is the reason of a capability that the card does not declare: it is not asked for, and costs nothing.
const ReasonNotDeclared Reason = "NotDeclared"
