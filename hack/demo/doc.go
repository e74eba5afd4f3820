// Command demo shows the product without a cluster of one's own.
//
// It starts a real API server, installs the operator's own manifests, runs the operator's binary under the rights of its
// ServiceAccount, starts honest and lying agents as processes of their own, and applies one AgentPeer per agent from the YAML
// files in peers/. A live table shows verdicts as they settle. Then two clients run the same errand at every agent: one
// trusts the agents' cards, the other reads the AgentPeers' status.
//
// What each agent should be found to be stands in its YAML file, as an annotation. A verdict that differs makes the demo fail, so
// that CI can run it (DEMO_EXIT=1 ends it by itself).
package main
