// Command mutants takes the guards of the prober away, one at a time, and looks whether the cases notice: `make cases-mutants`.
//
// A guard is a line that keeps the operator from a false accusation, from missing a lie, or from being used by an attacker; what the cases
// cannot miss of the last kind, the tests of `make security` must. A guard that nothing misses is not needed, or
// not tested; either is worth knowing. A mutant (mutants.go) names the file, the text of the guard and what stands there instead. It is
// compiled by way of `go test -overlay`, so no file of the tree is touched. First the tests named for it are run, which are cheap; if they
// pass, every test of the first layer of `make cases`, and the simulation. At least one has to fail: a mutant that survives is an error, and so is one
// that does not compile, or whose text is not found exactly once.
//
//	go run ./hack/mutants                    # all
//	go run ./hack/mutants -only 'control|window' -v
//
// Tests that fail without any mutation would catch everything, so the layer's tests are run on the tree as it is first. Those that
// need an API server are left out, with a word, where KUBEBUILDER_ASSETS is not set.
package main
