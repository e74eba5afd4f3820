// Package lifecycle holds the rules of an A2A task's life, for probers and orchestrators alike.
package lifecycle
