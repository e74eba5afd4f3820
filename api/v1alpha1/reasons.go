package v1alpha1

// The reasons below are those of capabilities, decisions and cards. They mirror what the engine knows; docs/reasons.md says of
// each what was seen, what it means and what to do.

// Reasons of capabilities and decisions, of observations that held or did not, and of what kept the operator from learning anything.
const (
	// ReasonHonored: the agent did what the card or the protocol says.
	ReasonHonored = "Honored"
	// ReasonStreamingRefused: the card declares streaming; the streaming method is refused as unsupported or unknown.
	ReasonStreamingRefused = "StreamingRefused"
	// ReasonStreamEmpty: the stream ended in good order without an event, while the single-shot control works.
	ReasonStreamEmpty = "StreamEmpty"
	// ReasonStreamClosedWithoutTerminalState: the stream ended although the task had reached a final state that the stream did not show.
	ReasonStreamClosedWithoutTerminalState = "StreamClosedWithoutTerminalState"
	// ReasonStreamStateDivergesFromTask: the open stream kept back a state that GetTask shows.
	ReasonStreamStateDivergesFromTask = "StreamStateDivergesFromTask"
	// ReasonStreamShapeViolation: a stream that generation 1.0 does not allow, such as two Messages.
	ReasonStreamShapeViolation = "StreamShapeViolation"
	// ReasonWrongStreamMediaType: the answer was a success and not text/event-stream.
	ReasonWrongStreamMediaType = "WrongStreamMediaType"
	// ReasonUnaryAnswerToStream: a whole Task or Message came as plain JSON.
	ReasonUnaryAnswerToStream = "UnaryAnswerToStream"
	// ReasonForeignTaskInStream: the stream carried events of another task.
	ReasonForeignTaskInStream = "ForeignTaskInStream"
	// ReasonMethodNotFound: every A2A method is unknown at the endpoint, in both spellings.
	ReasonMethodNotFound = "MethodNotFound"
	// ReasonProtocolBindingMismatch: an interface answers in another binding than the card declares for it.
	ReasonProtocolBindingMismatch = "ProtocolBindingMismatch"
	// ReasonProtocolGenerationMismatch: the endpoint speaks another generation than the card declares for it.
	ReasonProtocolGenerationMismatch = "ProtocolGenerationMismatch"
	// ReasonEventsAfterCancel: the cancel was accepted, and the task went on emitting: it still works and costs money.
	ReasonEventsAfterCancel = "EventsAfterCancel"
	// ReasonCancelMethodMissing: the cancel method does not exist.
	ReasonCancelMethodMissing = "CancelMethodMissing"
	// ReasonTaskIdChangedOnContinuation: a reply to a task came back with a new task id, and the first task stayed where it was for ever.
	ReasonTaskIdChangedOnContinuation = "TaskIdChangedOnContinuation"
	// ReasonContinuationRefused: the reply was refused although GetTask said input-required just before.
	ReasonContinuationRefused = "ContinuationRefused"
	// ReasonTaskNotRetrievable: GetTask does not know the task that the open stream shows at work, on every connection.
	ReasonTaskNotRetrievable = "TaskNotRetrievable"
	// ReasonTaskIdMismatch: GetTask answered with a task of another id.
	ReasonTaskIdMismatch = "TaskIdMismatch"
	// ReasonHistoryLimitExceeded: GetTask gave more messages of history than it was asked for.
	ReasonHistoryLimitExceeded = "HistoryLimitExceeded"
	// ReasonReturnImmediatelyIgnored: a send that was to return at once came back with the end of a long task.
	ReasonReturnImmediatelyIgnored = "ReturnImmediatelyIgnored"
	// ReasonResubscriptionRefused: streaming is declared, and picking up the stream of a task at work is refused.
	ReasonResubscriptionRefused = "ResubscriptionRefused"
	// ReasonResubscribedStreamEnded: the stream that was picked up ended in good order while the task worked on.
	ReasonResubscribedStreamEnded = "ResubscribedStreamEnded"
	// ReasonResubscribedStreamSilent: the stream that was picked up brought none of the events that the first stream brought.
	ReasonResubscribedStreamSilent = "ResubscribedStreamSilent"
	// ReasonDeclaredModeRefused: a message in a media type that the card declares is refused as not supported.
	ReasonDeclaredModeRefused = "DeclaredModeRefused"
	// ReasonPushConfigRefused: push notifications are declared, and a webhook for a task at work is refused as unsupported or unknown.
	ReasonPushConfigRefused = "PushConfigRefused"
	// ReasonPushNotDelivered: a webhook was accepted and never called, though the agent can reach it.
	ReasonPushNotDelivered = "PushNotDelivered"
	// ReasonPushUnauthenticated: the webhook was called without the credentials that it was given.
	ReasonPushUnauthenticated = "PushUnauthenticated"
	// ReasonExtendedCardNotConfigured: an extended card is declared, and the agent says that none is configured.
	ReasonExtendedCardNotConfigured = "ExtendedCardNotConfigured"
	// ReasonExtendedCardRefused: an extended card is declared, and asking for it is refused as unsupported or unknown.
	ReasonExtendedCardRefused = "ExtendedCardRefused"
	// ReasonTerminalStateNotFinal: a task left a terminal state, or went from one to another.
	ReasonTerminalStateNotFinal = "TerminalStateNotFinal"
	// ReasonEventsAfterTerminal: events of work followed a terminal state.
	ReasonEventsAfterTerminal = "EventsAfterTerminal"
	// ReasonNoFixture: the question needs a message that only you know.
	ReasonNoFixture = "NoFixture"
	// ReasonNotExercised: the state that would show it did not come about.
	ReasonNotExercised = "NotExercised"
	// ReasonMessageOnly: the agent answers with a Message, so there is no task to watch.
	ReasonMessageOnly = "MessageOnly"
	// ReasonUnreachable: DNS, TCP or TLS failed, or the connection ended without a byte.
	ReasonUnreachable = "Unreachable"
	// ReasonAddressNotAllowed: the address is private, loopback or otherwise guarded.
	ReasonAddressNotAllowed = "AddressNotAllowed"
	// ReasonOriginNotAllowed: the card names an origin that the spec does not.
	ReasonOriginNotAllowed = "OriginNotAllowed"
	// ReasonAuthenticationRequired: 401 or 407.
	ReasonAuthenticationRequired = "AuthenticationRequired"
	// ReasonPermissionDenied: 402 or 403.
	ReasonPermissionDenied = "PermissionDenied"
	// ReasonCredentialsRejected: 401 or 403 although credentials were sent, by the agent or by the token endpoint.
	ReasonCredentialsRejected = "CredentialsRejected"
	// ReasonTokenUnavailable: the token endpoint gave no access token.
	ReasonTokenUnavailable = "TokenUnavailable"
	// ReasonPlaintextNotAllowed: the URL is http, which the operator's configuration does not allow for this host.
	ReasonPlaintextNotAllowed = "PlaintextNotAllowed"
	// ReasonTooManyConnections: as many connections to one address, or bytes of answers, as the operator allows are in flight already.
	ReasonTooManyConnections = "TooManyConnections"
	// ReasonEndpointNotFound: 404, 405 or a page for browsers.
	ReasonEndpointNotFound = "EndpointNotFound"
	// ReasonEndpointRedirects: the endpoint answered with a redirect, which is not followed blindly.
	ReasonEndpointRedirects = "EndpointRedirects"
	// ReasonRateLimited: 429.
	ReasonRateLimited = "RateLimited"
	// ReasonServerError: 5xx without an A2A error in it.
	ReasonServerError = "ServerError"
	// ReasonUnexpectedAnswer: the answer is not JSON, not A2A, or too large.
	ReasonUnexpectedAnswer = "UnexpectedAnswer"
	// ReasonCardUnavailable: no card at any path that was tried.
	ReasonCardUnavailable = "CardUnavailable"
	// ReasonCardMalformed: what was served is not a JSON object, or too large.
	ReasonCardMalformed = "CardMalformed"
	// ReasonCardChanged: the card makes other claims than those judged so far.
	ReasonCardChanged = "CardChanged"
	// ReasonCardUnstable: more than three new sets of claims within a day.
	ReasonCardUnstable = "CardUnstable"
	// ReasonNoUsableInterface: no interface of a binding and version that we speak.
	ReasonNoUsableInterface = "NoUsableInterface"
	// ReasonAgentFailing: the single-shot control failed too, so the fault is not the stream's.
	ReasonAgentFailing = "AgentFailing"
	// ReasonAgentFlaky: a control failed lately, so more evidence is asked for before demoting.
	ReasonAgentFlaky = "AgentFlaky"
	// ReasonProbeRejected: the agent would not take the probe's message.
	ReasonProbeRejected = "ProbeRejected"
	// ReasonProbeDeadlineExceeded: our own clock ended the question.
	ReasonProbeDeadlineExceeded = "ProbeDeadlineExceeded"
	// ReasonVersionNegotiationFailed: the agent refuses the protocol version it declares.
	ReasonVersionNegotiationFailed = "VersionNegotiationFailed"
	// ReasonNoFirstEvent: the stream is open and no event came in time.
	ReasonNoFirstEvent = "NoFirstEvent"
	// ReasonStreamInterrupted: the stream was cut while the task went on.
	ReasonStreamInterrupted = "StreamInterrupted"
	// ReasonStreamIntermittent: one stream was bad and the next good; pairs of stream and control now compare the two rates.
	ReasonStreamIntermittent = "StreamIntermittent"
	// ReasonStuck: stream and GetTask agreed that the task works, to the deadline.
	ReasonStuck = "Stuck"
	// ReasonReplicaInconsistency: the same question was answered differently, or GetTask never showed what the stream had shown.
	ReasonReplicaInconsistency = "ReplicaInconsistency"
	// ReasonTaskOpsUnavailable: GetTask does not get through.
	ReasonTaskOpsUnavailable = "TaskOpsUnavailable"
	// ReasonTaskIdentityUnstable: ids change on the way and the old task moves on all the same.
	ReasonTaskIdentityUnstable = "TaskIdentityUnstable"
	// ReasonNotContinued: a reply began a new task, and nothing promised otherwise.
	ReasonNotContinued = "NotContinued"
	// ReasonInputRequiredNotReached: the agent did not ask back, or not in time.
	ReasonInputRequiredNotReached = "InputRequiredNotReached"
	// ReasonCancelNotHonoured: the cancel was accepted and the task ended otherwise.
	ReasonCancelNotHonoured = "CancelNotHonoured"
	// ReasonCancelUnsupported: the agent says that it cannot cancel.
	ReasonCancelUnsupported = "CancelUnsupported"
	// ReasonTaskNotCancelable: the agent says that this task cannot be canceled, which is legal.
	ReasonTaskNotCancelable = "TaskNotCancelable"
	// ReasonTaskEndedFirst: the task ended before the cancel, the webhook or the reply could reach it.
	ReasonTaskEndedFirst = "TaskEndedFirst"
	// ReasonPushReceiverMissing: the operator does not know under what URL agents can reach it.
	ReasonPushReceiverMissing = "PushReceiverMissing"
	// ReasonPushReceiverUnreachable: the operator's own webhook does not reach it; silence of an agent says nothing then.
	ReasonPushReceiverUnreachable = "PushReceiverUnreachable"
	// ReasonWebhookRefused: the agent refuses the address of the webhook, as it should where that is private.
	ReasonWebhookRefused = "WebhookRefused"
	// ReasonWebhookUnreachable: a webhook was accepted and not called, and the agent may not be able or willing to reach it.
	ReasonWebhookUnreachable = "WebhookUnreachable"
	// ReasonPushEndMissing: the webhook was called, and never with the end of the task.
	ReasonPushEndMissing = "PushEndMissing"
	// ReasonNoCredentials: the question is for callers who log in, and no credentials are configured.
	ReasonNoCredentials = "NoCredentials"
	// ReasonResubscriptionUnsupported: a stream cannot be picked up, which 0.x allows.
	ReasonResubscriptionUnsupported = "ResubscriptionUnsupported"
	// ReasonNoNormativeObservable: the flag (stateTransitionHistory) promises nothing that can be observed.
	ReasonNoNormativeObservable = "NoNormativeObservable"
	// ReasonProbePanicked: a fault of ours; never the agent's.
	ReasonProbePanicked = "ProbePanicked"
	// ReasonProbeFailed: a fault of ours; never the agent's.
	ReasonProbeFailed = "ProbeFailed"
	// ReasonTrustExpired: nothing renewed the trust in time; callers see Unverified.
	ReasonTrustExpired = "TrustExpired"
	// ReasonClaimsReturned: claims that were judged before are back, and their trust still runs.
	ReasonClaimsReturned = "ClaimsReturned"
	// ReasonBudgetExhausted: the round waits for tasks of maxTasksPerDay.
	ReasonBudgetExhausted = "BudgetExhausted"
	// ReasonStreamingTrusted: stream.
	ReasonStreamingTrusted = "StreamingTrusted"
	// ReasonStreamingDemoted: send single-shot; the record of Streaming says why.
	ReasonStreamingDemoted = "StreamingDemoted"
	// ReasonStreamingUnverified: send single-shot; nothing valid was observed, or not lately.
	ReasonStreamingUnverified = "StreamingUnverified"
	// ReasonClaimsUnsettled: other claims were seen within two intervals, and those are not trusted.
	ReasonClaimsUnsettled = "ClaimsUnsettled"
	// ReasonObserveOnly: trust.mode is Observe: the card decides; decision.would is what it would be.
	ReasonObserveOnly = "ObserveOnly"
	// ReasonRequirementsMet: every required capability is trusted, or none is required.
	ReasonRequirementsMet = "RequirementsMet"
	// ReasonTargetChanged: the AgentPeer names another agent now; everything is earned again.
	ReasonTargetChanged = "TargetChanged"
	// ReasonReportedByOrchestrators: as many orchestrators as the quorum asks for reported contradictions, and no clean round has answered yet.
	ReasonReportedByOrchestrators = "ReportedByOrchestrators"
	// ReasonProbesAndReportsDisagree: such reports came again within a day of a clean round that had answered them.
	ReasonProbesAndReportsDisagree = "ProbesAndReportsDisagree"
	// ReasonReportsUnanswered: no round could confirm or lift within a day what orchestrators had reported; it is no longer held.
	ReasonReportsUnanswered = "ReportsUnanswered"
	// ReasonFleetInconclusive: most peers at once could not be judged, which looks like our own trouble; nothing was counted.
	ReasonFleetInconclusive = "FleetInconclusive"
	// ReasonFleetContradiction: many peers at once showed the same contradiction, which looks like our own trouble; nothing was counted.
	ReasonFleetContradiction = "FleetContradiction"
	// ReasonNothingDeclared: nothing is declared and nothing required, so there is nothing to trust.
	ReasonNothingDeclared = "NothingDeclared"
	// ReasonNotDeclared: the card does not declare the capability; no penalty, no trust.
	ReasonNotDeclared = "NotDeclared"
)

// Reasons of signatures, of the condition SignatureVerified and of the decision under policy Require.
const (
	// ReasonSignatureVerified: a signature stands over the card in its canonical form.
	ReasonSignatureVerified = "SignatureVerified"
	// ReasonSignatureNonCanonical: a signature stands over another form of the card.
	ReasonSignatureNonCanonical = "SignatureNonCanonical"
	// ReasonSignaturePartial: the form that the signature stands over leaves out statements of the card.
	ReasonSignaturePartial = "SignaturePartial"
	// ReasonSignatureOtherAddress: the card that the signature stands over does not name the address that the agent is talked to at.
	ReasonSignatureOtherAddress = "SignatureOtherAddress"
	// ReasonSignatureInvalid: the key is known, and the signature does not stand.
	ReasonSignatureInvalid = "SignatureInvalid"
	// ReasonSignatureAbsent: the card has no signature.
	ReasonSignatureAbsent = "SignatureAbsent"
	// ReasonSignatureMalformed: no signature of the card can be read.
	ReasonSignatureMalformed = "SignatureMalformed"
	// ReasonSignatureKeyUnknown: no signature of the card is by a key of card.verification.
	ReasonSignatureKeyUnknown = "SignatureKeyUnknown"
	// ReasonSignatureAlgorithmNotAllowed: the signature's algorithm is none of those that are allowed.
	ReasonSignatureAlgorithmNotAllowed = "SignatureAlgorithmNotAllowed"
	// ReasonSignatureKeysUnavailable: the JWK set of jwksURL could not be read.
	ReasonSignatureKeysUnavailable = "SignatureKeysUnavailable"
	// ReasonSignatureExpired: a signature stood, and was not found again in time.
	ReasonSignatureExpired = "SignatureExpired"
	// ReasonSignatureUnchecked: no card was read since the policy or the keys were set.
	ReasonSignatureUnchecked = "SignatureUnchecked"
	// ReasonSignatureIgnored: card.verification.policy is Ignore.
	ReasonSignatureIgnored = "SignatureIgnored"
)

// Warnings of capabilities: findings that cost no trust.
const (
	// WarningUndeclaredButWorks: a capability that the card does not declare works.
	WarningUndeclaredButWorks = "UndeclaredButWorks"
	// WarningStreamNotClosedAfterTerminal: the stream stayed open after the final state.
	WarningStreamNotClosedAfterTerminal = "StreamNotClosedAfterTerminal"
	// WarningFirstEventNotTask: a stream of 1.0 began with something other than a Task or Message.
	WarningFirstEventNotTask = "FirstEventNotTask"
	// WarningStreamCompletedWithoutContent: the task completed and the stream showed no artifact or message.
	WarningStreamCompletedWithoutContent = "StreamCompletedWithoutContent"
	// WarningSingleBurst: all events came at once, at the end.
	WarningSingleBurst = "SingleBurst"
	// WarningBufferedStream: something on the way holds events back.
	WarningBufferedStream = "BufferedStream"
	// WarningUnterminatedFinalEvent: the last event lacks its empty line; it was read all the same.
	WarningUnterminatedFinalEvent = "UnterminatedFinalEvent"
	// WarningTaskStoreStale: the stream was further than GetTask, which caught up or lags.
	WarningTaskStoreStale = "TaskStoreStale"
	// WarningResultShapeMismatch: an answer in the shape of another generation or method.
	WarningResultShapeMismatch = "ResultShapeMismatch"
	// WarningStateSpelling: a task state in another generation's spelling, or a number.
	WarningStateSpelling = "StateSpelling"
	// WarningResponseIDMismatch: a JSON-RPC answer did not echo the request's id.
	WarningResponseIDMismatch = "ResponseIDMismatch"
	// WarningMalformedEvents: events that are not JSON were passed over.
	WarningMalformedEvents = "MalformedEvents"
	// WarningEventsAfterFinal: more events came after final: true.
	WarningEventsAfterFinal = "EventsAfterFinal"
	// WarningMessageInTaskStream: a Message came among the events of a task.
	WarningMessageInTaskStream = "MessageInTaskStream"
	// WarningBlockingSendReturnedNonTerminal: a blocking send returned before the task had ended.
	WarningBlockingSendReturnedNonTerminal = "BlockingSendReturnedNonTerminal"
	// WarningCanceledFrameMissing: the task is canceled and the stream never said so.
	WarningCanceledFrameMissing = "CanceledFrameMissing"
	// WarningContinuedWithMessage: a reply to a task was answered with a Message.
	WarningContinuedWithMessage = "ContinuedWithMessage"
	// WarningReplyAnsweredWithError: a reply to a task was answered with an error and taken up all the same.
	WarningReplyAnsweredWithError = "ReplyAnsweredWithError"
	// WarningContextChanged: a reply to a task was answered in another context.
	WarningContextChanged = "ContextChanged"
	// WarningInputRequiredWithoutWorking: the task asked for input without having worked.
	WarningInputRequiredWithoutWorking = "InputRequiredWithoutWorking"
	// WarningTaskResubscribable: a stream that was cut could be picked up again.
	WarningTaskResubscribable = "TaskResubscribable"
	// WarningLateFramesAfterCancel: a few buffered events came after the cancel.
	WarningLateFramesAfterCancel = "LateFramesAfterCancel"
	// WarningPushAuthMissing: the webhook of a 0.x agent was called with the token alone.
	WarningPushAuthMissing = "PushAuthMissing"
	// WarningPushPayloadShape: the webhook of a 1.0 agent was called with a body of an older shape.
	WarningPushPayloadShape = "PushPayloadShape"
	// WarningPushOnlyWhenStreaming: the webhook was called for a streamed task and not for another.
	WarningPushOnlyWhenStreaming = "PushOnlyWhenStreaming"
	// WarningPushSecretMismatch: the webhook was called with other secrets than it was given.
	WarningPushSecretMismatch = "PushSecretMismatch"
	// WarningExtendedCardAnonymous: the extended card was given to a caller without credentials.
	WarningExtendedCardAnonymous = "ExtendedCardAnonymous"
	// WarningExtendedCardContradictsCard: the extended card takes back a capability that the public card declares.
	WarningExtendedCardContradictsCard = "ExtendedCardContradictsCard"
	// WarningHistoryNotOmitted: GetTask was asked for no history and gave some.
	WarningHistoryNotOmitted = "HistoryNotOmitted"
	// WarningImmediateSendWaited: a send that was to return at once came late with the end of its task, in 0.x or as an ordinary message did.
	WarningImmediateSendWaited = "ImmediateSendWaited"
	// WarningProbedUnmarked: what is held was seen in a round without the probe mark, so the agent could not tell it from a user.
	WarningProbedUnmarked = "ProbedUnmarked"
	// WarningStreamEndedWithError: an error came as the last event after a proper end.
	WarningStreamEndedWithError = "StreamEndedWithError"
)

// Warnings of cards: oddities that lose nothing.
const (
	// WarningLegacyCardPath: the card was read from /.well-known/agent.json.
	WarningLegacyCardPath = "LegacyCardPath"
	// WarningCapabilityWrongType: a capability is neither true, false nor null, and counts as not declared.
	WarningCapabilityWrongType = "CapabilityWrongType"
	// WarningCapabilitiesMissing: the card has no capabilities.
	WarningCapabilitiesMissing = "CapabilitiesMissing"
	// WarningEndpointUnroutable: the card names an address that only works where it was written, such as localhost; interface.urlFrom: Endpoint helps.
	WarningEndpointUnroutable = "EndpointUnroutable"
	// WarningSchemeDowngrade: the card came over https and names an endpoint over http.
	WarningSchemeDowngrade = "SchemeDowngrade"
	// WarningInsecureEndpoint: the endpoint is plain http on another machine.
	WarningInsecureEndpoint = "InsecureEndpoint"
	// WarningEndpointIsCard: the endpoint is the card's own address.
	WarningEndpointIsCard = "EndpointIsCard"
	// WarningRelativeEndpoint: the endpoint is relative, and was resolved against the card's address.
	WarningRelativeEndpoint = "RelativeEndpoint"
	// WarningEndpointOriginDiffers: the endpoint is on another host or port than the card.
	WarningEndpointOriginDiffers = "EndpointOriginDiffers"
	// WarningInterfaceMalformed: an interface cannot be read and was passed over.
	WarningInterfaceMalformed = "InterfaceMalformed"
	// WarningInterfaceUnreachable: nothing answers at one of several declared interfaces.
	WarningInterfaceUnreachable = "InterfaceUnreachable"
	// WarningInterfaceMismatch: a declared interface answers in another generation or binding than it names.
	WarningInterfaceMismatch = "InterfaceMismatch"
	// WarningInterfacesTruncated: more interfaces than we look at.
	WarningInterfacesTruncated = "InterfacesTruncated"
	// WarningSecurityMalformed: a security scheme or requirement cannot be read.
	WarningSecurityMalformed = "SecurityMalformed"
	// WarningSkillsMalformed: a skill has no id, or is no object.
	WarningSkillsMalformed = "SkillsMalformed"
	// WarningSkillsTruncated: more skills than we publish.
	WarningSkillsTruncated = "SkillsTruncated"
	// WarningModesMalformed: an input or output mode is no media type.
	WarningModesMalformed = "ModesMalformed"
	// WarningMixedGenerations: the card has members of 0.x and of 1.0.
	WarningMixedGenerations = "MixedGenerations"
	// WarningDuplicateMembers: a member is named twice; the last one counts, and no capability that is said to be and not to be.
	WarningDuplicateMembers = "DuplicateMembers"
	// WarningByteOrderMark: a byte order mark stands before the JSON.
	WarningByteOrderMark = "ByteOrderMark"
	// WarningHistoryFlagRemoved: stateTransitionHistory on a card of 1.0, which does not know it.
	WarningHistoryFlagRemoved = "HistoryFlagRemoved"
	// WarningSnakeCaseMembers: members in snake_case, which A2A does not read.
	WarningSnakeCaseMembers = "SnakeCaseMembers"
	// WarningVersionMissing: an interface of 1.0 has no protocol version, or none that is one.
	WarningVersionMissing = "VersionMissing"
)
