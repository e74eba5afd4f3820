// Package examples tests the orchestrators of examples/ as their users run them: each as a process of its own, with the rights of
// the role agentpeer-orchestrator, on a real API server, against scripted agents. It has tests only; build.sh makes what they need.
package examples
