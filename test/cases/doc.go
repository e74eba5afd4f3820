// Command cases is the proof that the prober does not cry wolf. It runs three layers and prints what they came to:
//
//	cases       what agents and proxies were reported to do, each a test named by its case id (go test -run Case)
//	fleets      honest but odd peers, and liars, through days of probing under faults (test/fleet)
//	simulation  the trust machine alone, through 100,000 peer-days (test/simulate)
//
//	go run ./test/cases                     all of it, a quarter of an hour on two cores
//	go run ./test/cases -layer fleets       one layer
//	go run ./test/cases -layer fleets -seed 42 -only empty-stream -v
//
// Progress goes to standard error. Standard output gets a table for people, one JSON object per fleet and one for the simulation, and
// last the line "N passed, N failed". The exit code is 1 if anything failed.
//
// A thing that can pass or fail is a test of the first layer, a peer of the second and a profile of the third, and each of the goals that
// hold for a whole fleet.
package main
