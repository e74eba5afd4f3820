//go:build race

package hostile

// raceFactor is how many times the memory of a program the race detector takes at most, about.
const raceFactor = 6
