//go:build !race

package probe

// roundsAtOnce that tests run; nearly all of their time is waiting.
const roundsAtOnce = 16
