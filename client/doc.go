// Package client is for orchestrators: how to read what the operator found out about a peer, and to act on it.
//
// Decide tells what to do with a peer now. Give it the AgentPeer as your informer or GET returned it:
//
//	decision := client.Decide(peer, time.Now())
//	switch decision.Path {
//	case v1alpha1.PathStreaming:  // open a stream
//	case v1alpha1.PathSingleShot: // send, then follow as decision.Updates says
//	case v1alpha1.PathUnavailable: // do not use this peer now
//	}
//
// It fails closed. Trust is believed only while it is live and about the spec that stands there now; kubectl and selectors
// do not know the clock, so read through Decide where it matters. It is pure, allocates nothing and asks nobody, so it can
// be called for every request.
package client
