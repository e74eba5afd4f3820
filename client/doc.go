// Package client is for orchestrators: it reads what the operator found out about a peer, acts on it, and lets what real traffic shows flow
// back.
//
// # Deciding
//
// A PeerCapabilityCache watches AgentPeers and answers, for each request, what to do with a peer now. It is asked by the name of an AgentPeer
// (Named) or by the URL that is about to be called (At), takes no lock, allocates nothing and costs less than 200 ns:
//
//	cache, err := client.NewPeerCapabilityCache(config, client.CacheOptions{})
//	go cache.Start(ctx)
//	err = cache.WaitForSync(soon) // a bounded context; an *AccessError names a right that is missing
//
//	switch decision := cache.Decide(client.At(url)); decision.Path {
//	case v1alpha1.PathStreaming:   // open a stream
//	case v1alpha1.PathSingleShot:  // send, then follow as decision.Updates says
//	case v1alpha1.PathUnavailable: // do not use this peer now
//	}
//
// A program that has an informer of its own gives it to NewPeerCapabilityCacheFor; one that has a single AgentPeer in hand asks the pure
// function Decide, which the cache asks too.
//
// All of it fails closed. Trust is believed only while it lasts by this machine's clock, with a tolerance (CacheOptions.ClockSkew), and
// only about the target that the spec names now. Whatever breaks, be it the operator, the API server, the watch or a right, decisions lapse to
// SingleShot, AllInputsUpfront, BestEffort and Poll by themselves. kubectl and selectors do not know the clock, so read through this
// package where it matters. A decision that changes is for tasks to come: it is no cause to interrupt one that runs.
//
// Whoever may create AgentPeers decides what At finds: of several AgentPeers for one URL the worst counts, so a second one can take a promise
// away and never add one. Ask with Named, or set CacheOptions.Namespaces, where tenants are not to have a say in one another's peers.
//
// # What was seen
//
// Demote takes what this process saw a peer break into account at once, and Honored what it saw work. With a Reporter both reach the operator
// as an AgentPeerReport, and so every other orchestrator. Classify tells which errors may be held against a peer at all.
//
// # Following tasks
//
// Tasks sends work on the path that was decided and follows it to its end, with a Ledger that loses no task. The rules by which it and the
// operator's prober judge what a task does are in package lifecycle.
package client
