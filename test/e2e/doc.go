// Package e2e tests the product as it is shipped: the operator's and the command's own programs, the operator with the
// rights that config/default gives it, on a real API server, against scripted agents that lie and real servers that do
// not. It has tests only; run them with make e2e.
//
// Each story has an operator of its own for a namespace of its own, so that stories run beside each other and one may
// kill its operator or cut its way to the API server. A story looks at every status that was ever written, not only at
// the last. Verdicts, timing and every odd case are tested where they are decided; here is what only the whole can show.
package e2e
