// Package hostile holds tests against peers that mean harm: each a real server on loopback that does one thing no honest one does, from a card
// without an end to an HTTP/2 connection that floods.
//
// Each peer stands in the process of the test, and is probed by a process of its own (the same binary), so that what is measured is what the
// prober used and nothing of the peer. That process first probes an honest agent, which warms it up; the peak above what it held then is what
// the hostile peer cost. See round_test.go for the probing side, stand_test.go for what peers are built of, and one file for each layer that
// they abuse.
//
// What has to hold for each: the round ends within its bound, memory stays below a ceiling, no goroutine stays behind, nothing but what the
// table allows is Diverged, and the peer did get to do what it is there for.
package hostile
