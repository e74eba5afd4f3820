package trust

// Reason is a CamelCase fact. Every reason stands in docs/reasons.md and, as a constant, in api/v1alpha1.
type Reason string

// Reasons of Honored.
const (
	ReasonHonored Reason = "Honored"
)

// Reasons of Diverged.
const (
	// Streaming
	ReasonStreamingRefused                 Reason = "StreamingRefused"                 // -32004, or -32601 in both dialects (C25, C26)
	ReasonStreamEmpty                      Reason = "StreamEmpty"                      // ended in good order without an event, control works (C03)
	ReasonStreamClosedWithoutTerminalState Reason = "StreamClosedWithoutTerminalState" // withheld, task is terminal (C01)
	ReasonStreamStateDivergesFromTask      Reason = "StreamStateDivergesFromTask"      // open stream withholds a state that GetTask shows (C04)
	ReasonStreamShapeViolation             Reason = "StreamShapeViolation"             // 1.0: more than one Message (C08)
	ReasonWrongStreamMediaType             Reason = "WrongStreamMediaType"             // not text/event-stream (C19)
	ReasonUnaryAnswerToStream              Reason = "UnaryAnswerToStream"              // a Task or Message as plain JSON
	ReasonForeignTaskInStream              Reason = "ForeignTaskInStream"              // events of another task id
	ReasonMethodNotFound                   Reason = "MethodNotFound"                   // every A2A method, both dialects (C35)
	ReasonProtocolBindingMismatch          Reason = "ProtocolBindingMismatch"          // an interface that speaks another binding than declared
	ReasonProtocolGenerationMismatch       Reason = "ProtocolGenerationMismatch"       // speaks another generation than declared (C37, C38)
	// Cancellation
	ReasonEventsAfterCancel Reason = "EventsAfterCancel" // the zombie: accepts and goes on emitting
	ReasonCancelRefused     Reason = "CancelMethodMissing"
	// Continuation
	ReasonTaskIDChangedOnContinuation Reason = "TaskIdChangedOnContinuation" // C68 and the founding incident
	ReasonContinuationRefused         Reason = "ContinuationRefused"         // refused while GetTask says input-required
	// TaskRetrieval
	ReasonTaskNotRetrievable       Reason = "TaskNotRetrievable"       // TaskNotFound every time for a task that the open stream shows active
	ReasonTaskIDMismatch           Reason = "TaskIdMismatch"           // GetTask answers with another id
	ReasonHistoryLimitExceeded     Reason = "HistoryLimitExceeded"     // 1.0: more messages of history than historyLength asks for
	ReasonReturnImmediatelyIgnored Reason = "ReturnImmediatelyIgnored" // 1.0: a send that was to return at once came with the end of a long task
	// Resubscription
	ReasonResubscriptionRefused    Reason = "ResubscriptionRefused"    // 1.0: -32004 or -32601 for a task at work, though streaming is declared
	ReasonResubscribedStreamEnded  Reason = "ResubscribedStreamEnded"  // 1.0: ended in good order while the task worked on (C18)
	ReasonResubscribedStreamSilent Reason = "ResubscribedStreamSilent" // 1.0: brought none of the events that the first stream brought
	// InputModes
	ReasonDeclaredModeRefused Reason = "DeclaredModeRefused" // -32005 for a media type that the card declares
	// PushNotifications
	ReasonPushConfigRefused   Reason = "PushConfigRefused"   // -32003, -32004 or -32601 to a webhook for a task at work (C33)
	ReasonPushNotDelivered    Reason = "PushNotDelivered"    // accepted, and a webhook that the peer can reach was never called
	ReasonPushUnauthenticated Reason = "PushUnauthenticated" // 1.0: called without the credentials it was given (C77)
	// ExtendedAgentCard
	ReasonExtendedCardNotConfigured Reason = "ExtendedCardNotConfigured" // -32007
	ReasonExtendedCardRefused       Reason = "ExtendedCardRefused"       // -32004, -32601; 0.2: nothing is where it should be
	// Lifecycle
	ReasonTerminalStateNotFinal Reason = "TerminalStateNotFinal" // C71
	ReasonEventsAfterTerminal   Reason = "EventsAfterTerminal"
)

// Reasons of Inconclusive: what kept us from learning anything.
const (
	ReasonNoFixture                Reason = "NoFixture"
	ReasonNotExercised             Reason = "NotExercised"
	ReasonMessageOnly              Reason = "MessageOnly"
	ReasonUnreachable              Reason = "Unreachable"              // DNS, TCP, TLS, EOF without a byte (C88)
	ReasonAddressNotAllowed        Reason = "AddressNotAllowed"        // the dialer's guard refused (C110)
	ReasonOriginNotAllowed         Reason = "OriginNotAllowed"         // the card names an origin the spec does not (C109)
	ReasonAuthenticationRequired   Reason = "AuthenticationRequired"   // 401, 407
	ReasonPermissionDenied         Reason = "PermissionDenied"         // 402, 403
	ReasonCredentialsRejected      Reason = "CredentialsRejected"      // 401 or 403 though credentials were sent
	ReasonTokenUnavailable         Reason = "TokenUnavailable"         // the token endpoint gave none
	ReasonPlaintextNotAllowed      Reason = "PlaintextNotAllowed"      // http where the operator wants https
	ReasonTooManyConnections       Reason = "TooManyConnections"       // of ours, to one address; or bytes of answers
	ReasonEndpointNotFound         Reason = "EndpointNotFound"         // 404, 405, HTML (C35, C54)
	ReasonEndpointRedirects        Reason = "EndpointRedirects"        // C47
	ReasonRateLimited              Reason = "RateLimited"              // 429
	ReasonServerError              Reason = "ServerError"              // 5xx without a protocol body
	ReasonUnexpectedAnswer         Reason = "UnexpectedAnswer"         // not JSON, not A2A, too large
	ReasonCardUnavailable          Reason = "CardUnavailable"          // no card at any path (C48, C52)
	ReasonCardMalformed            Reason = "CardMalformed"            // not a JSON object, or too large
	ReasonCardChanged              Reason = "CardChanged"              // other claims than when the round began
	ReasonCardUnstable             Reason = "CardUnstable"             // more than 3 new digests in 24 h
	ReasonNoUsableInterface        Reason = "NoUsableInterface"        // no binding and version that we speak (C99)
	ReasonAgentFailing             Reason = "AgentFailing"             // -32603, failed control (C03, C25)
	ReasonAgentFlaky               Reason = "AgentFlaky"               // a control failed lately: more evidence is asked for
	ReasonProbeRejected            Reason = "ProbeRejected"            // -32602, -32005, rejected (C92)
	ReasonProbeDeadlineExceeded    Reason = "ProbeDeadlineExceeded"    // our own clock ended it (C91)
	ReasonVersionNegotiationFailed Reason = "VersionNegotiationFailed" // C43
	ReasonNoFirstEvent             Reason = "NoFirstEvent"             // headers or comments only, stream still open
	ReasonStreamInterrupted        Reason = "StreamInterrupted"        // cut: the task goes on (C02, C90)
	ReasonStreamIntermittent       Reason = "StreamIntermittent"       // bad, then good in one round
	ReasonStuck                    Reason = "Stuck"                    // stream and GetTask both active to the deadline
	ReasonReplicaInconsistency     Reason = "ReplicaInconsistency"     // GetTask answers that mix (C65)
	ReasonTaskOpsUnavailable       Reason = "TaskOpsUnavailable"       // no GetTask through a gateway (C85)
	ReasonTaskIdentityUnstable     Reason = "TaskIdentityUnstable"     // ids change and the old task moves on
	ReasonNotContinued             Reason = "NotContinued"             // a new task, and nothing promised otherwise
	ReasonInputRequiredNotReached  Reason = "InputRequiredNotReached"
	ReasonCancelNotHonoured        Reason = "CancelNotHonoured"         // C70
	ReasonCancelUnsupported        Reason = "CancelUnsupported"         // -32603, -32004 (C72)
	ReasonTaskNotCancelable        Reason = "TaskNotCancelable"         // -32002
	ReasonTaskEndedFirst           Reason = "TaskEndedFirst"            // the task ended before we could cancel it
	ReasonPushReceiverMissing      Reason = "PushReceiverMissing"       // nobody told us under what URL peers can reach us
	ReasonPushReceiverUnreachable  Reason = "PushReceiverUnreachable"   // our own webhook does not reach us
	ReasonWebhookRefused           Reason = "WebhookRefused"            // the address was refused, as 1.0 §13.2 tells agents to (C80)
	ReasonWebhookUnreachable       Reason = "WebhookUnreachable"        // accepted and silent, and the address may be one that is blocked (C80)
	ReasonPushEndMissing           Reason = "PushEndMissing"            // called, and never with the end of the task
	ReasonNoCredentials            Reason = "NoCredentials"             // the question is for callers who log in (1.0 §13.3)
	ReasonResubscriptionMissing    Reason = "ResubscriptionUnsupported" // 0.x, which ties it to no declaration
	ReasonUnverifiable             Reason = "NoNormativeObservable"     // StateTransitionHistory
	ReasonPanicked                 Reason = "ProbePanicked"             // our own fault
	ReasonInternal                 Reason = "ProbeFailed"               // our own fault
)

// Reasons that this package gives itself: to a state, a held-back plan or a decision.
const (
	ReasonTrustExpired             Reason = "TrustExpired"             // nothing renewed the trust before its time was up
	ReasonClaimsReturned           Reason = "ClaimsReturned"           // a claim set came back whose trust still ran (canary, rollback)
	ReasonBudgetExhausted          Reason = "BudgetExhausted"          // the round waits for tasks of the daily budget
	ReasonNotProbed                Reason = "NotProbed"                // no round has come back yet
	ReasonStreamingTrusted         Reason = "StreamingTrusted"         // live trust in Streaming
	ReasonStreamingDemoted         Reason = "StreamingDemoted"         // the record of Streaming says why
	ReasonStreamingUnverified      Reason = "StreamingUnverified"      // nothing valid observed
	ReasonClaimsUnsettled          Reason = "ClaimsUnsettled"          // another claim set seen within two intervals is not trusted
	ReasonObserveOnly              Reason = "ObserveOnly"              // mode Observe: the card decides
	ReasonAllTrusted               Reason = "AllTrusted"               // every declared and required capability
	ReasonRequirementsMet          Reason = "RequirementsMet"          // every required capability, or none is required
	ReasonTargetChanged            Reason = "TargetChanged"            // another target: everything is earned again
	ReasonNothingDeclared          Reason = "NothingDeclared"          // nothing declared and nothing required: nothing to trust
	ReasonReportedByOrchestrators  Reason = "ReportedByOrchestrators"  // a quorum of reports contradicts, and no clean round has answered yet
	ReasonProbesAndReportsDisagree Reason = "ProbesAndReportsDisagree" // it came again within a day of the clean round
	ReasonReportsUnanswered        Reason = "ReportsUnanswered"        // a demotion by reports that no probe confirmed or lifted in a day
	ReasonFleetInconclusive        Reason = "FleetInconclusive"        // the fuse: most origins turned inconclusive at once
	ReasonFleetContradiction       Reason = "FleetContradiction"       // the fuse: many origins show the same contradiction at once
)
