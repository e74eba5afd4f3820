// Package deploy holds the tests of config/: what a user applies to a cluster is accepted by a real API server, and
// allows the operator what it needs and no more.
package deploy
