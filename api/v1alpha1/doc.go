// Package v1alpha1 holds the kinds of group trust.agentpeer.dev: what a user asks for (spec), what the operator found
// (status), the names of conditions and reasons, and the rules by which an API server refuses a bad object.
//
// # What is promised here
//
// Every value that these Go types cannot decode is refused at admission, because one undecodable object would stop the
// informer of every reader in the cluster. So each duration and time has a pattern, each number a range, and each
// string, list and map a bound. A field added here needs the same, and a row in the tests of bad objects.
//
// Settings of probes and of trust have no schema defaults: unset means the operator's own default, and status.effective
// shows what applies. That way a change of the operator's defaults reaches every object that did not choose otherwise.
//
// Unions (auth, and the endpoint) name their member in a field or in a rule, so that members can be added later.
//
// The package imports apimachinery only, so that an orchestrator can read an AgentPeer without pulling in a client.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=trust.agentpeer.dev
package v1alpha1
