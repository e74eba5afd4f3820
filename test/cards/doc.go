// Package cards holds the tests of the reconciled card as its clients see it: released SDKs that know nothing of us, against a real API server
// and scripted agents.
package cards
