// Command security runs every test that is part of the proof that nothing leaks and nothing gets in: those whose names begin with
// TestSecurity, wherever they are. It counts them and what they say by T.Attr:
//
//	ssrf_blocked              attempts to make us dial where we must not that were refused and dialled nothing; summed
//	leaks                     canaries that were found outside; summed, and 0 is the goal
//	peak_mb_per_hostile_peer  the most memory, in MiB, that one hostile peer made us use; the largest is told
//
//	go run ./test/security              all of it
//	go run ./test/security -only SSRF   tests with this in their names
//
// Progress goes to standard error. Standard output gets what failed and why, a table of the families, one JSON object, and last the line
// "N passed, N failed". The exit code is 1 if anything failed.
//
// A check that asserts nothing is a defect, so it counts as a failure too when a family has no test that passed, when nobody said a number,
// and when a test was skipped although KUBEBUILDER_ASSETS is set, as "make security" does.
package main
