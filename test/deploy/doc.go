// Package deploy holds the tests of config/ and of how programs and image are built: what a user applies to a cluster is accepted
// by a real API server, and the pod is as harmless as it can be. Who may do what is tested in test/roles.
package deploy
