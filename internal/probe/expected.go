package probe

import "github.com/agentpeer/agentpeer/internal/trust"

// expected says of each question what is owed, in a sentence that the evidence shows beside what was seen.
var expected = map[trust.Capability]string{
	trust.Streaming: "a stream of text/event-stream that goes on until the task is over or asks for something, or one Message; " +
		"and that shows each state which GetTask shows",
	trust.PushNotifications: "a webhook is accepted, and called at least once for its task, with the credentials that it was registered with",
	trust.ExtendedAgentCard: "a card, for whoever presents credentials",
	trust.TaskRetrieval:     "GetTask finds the task that was begun, under the id that it was asked for",
	trust.Lifecycle:         "once the task is over it stays as it is: no other state, no further artifact",
	trust.Cancellation: "CancelTask is known; if the peer says canceled, the work stops and the task stays canceled. " +
		"To refuse is legal, and so is a task that ends first",
	trust.Continuation:   "a reply that names the task which asks for input continues that task, under its id",
	trust.Resubscription: "the stream of a task at work can be picked up again, and goes on to its end",
	trust.InputModes:     "a message of each media type that the card declares is not refused because of its type",
}

// Expected says what an honest peer owes to the question about a capability; empty if nothing is asked about it.
func Expected(c trust.Capability) string { return expected[c] }
