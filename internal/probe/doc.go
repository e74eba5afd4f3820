// Package probe asks a peer questions and reports what came back.
package probe
