// Package e2e tests the product as it is shipped: the operator's own program, with the rights that config/ gives it, on a
// real API server, against scripted agents that lie and real servers that do not. It has tests only.
//
// Verdicts, timing and every odd case are tested where they are decided; here is what only the whole can show. Run it with
// make e2e.
package e2e
