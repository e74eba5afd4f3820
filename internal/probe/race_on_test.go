//go:build race

package probe

// roundsAtOnce: the race detector makes everything some ten times slower, and short timings with it.
const roundsAtOnce = 4
