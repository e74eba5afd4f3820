// Command bench measures the operator and prints one JSON object per line.
//
// Everything is real: an API server, the operator's binary, agents in a process of their own, all on this machine. Speed is given as
// a ratio to a bare Go program (bare.go) that watches the same objects, does the same exchanges with the same agents at the same
// concurrency and writes one status each, run in the same minutes: absolute times say more about the machine than about the operator.
//
//	go run ./test/bench                 everything
//	go run ./test/bench -only steady    one figure
//	go run ./test/bench -peers 200      a smaller fleet
//
// It needs KUBEBUILDER_ASSETS (make bench sets it).
package main
