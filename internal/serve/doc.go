// Package serve is what the operator and the CLI serve to others over HTTP: the receiver of webhooks, by which probes see whether a peer really
// calls back, and the bounds under which anything else is served. No listener of the operator is without them: whoever reaches a port needs no
// credentials to fill the memory of a server that waits for everybody.
//
//	r, err := serve.NewReceiver(serve.ReceiverOptions{Address: ":8083", URL: base})
//	go r.Start(ctx)
//	hook, done, err := r.Open(func(header http.Header, body []byte, whole bool) { ... })
//	defer done()
//
// # The receiver
//
// Whoever can reach it can post anything to it, so it knows nothing and says nothing: it has a listener of its own, takes POST only, reads
// at most 64 KiB, answers with a bare status at once, and reflects no byte. A webhook is known by 256 random bits in its path, which are
// compared by their hash; it lives as long as its probe and half an hour at most. Tokens and credentials are the probe's to compare.
// What may come in at once, and how fast unknown paths may be tried, is bounded, for one source and one webhook by less than for all together.
//
// A flood must not make anybody look silent. What is refused of a webhook that is known is told to its probe as a call without a body. What is
// refused before that can be known is counted (TurnedAway), and silence meanwhile accuses nobody. Another replica may have refused it, and is asked
// (TurnedAwayElsewhere). A body has 2 s to come, and what is for another replica takes a place only once it is here.
//
//	known path      200, or 413 for a larger body, whatever the body: a peer is not to try again because of us
//	too much of it  503 while too many deliveries of this webhook, or of all, are under way
//	its probe ended 200 for a while, at once and unread, and nobody is told
//	other paths     404, and 429 where they come too fast
//	no POST         405 on a known path
//
// # Replicas
//
// One replica probes, and the Service in front spreads webhooks over all. So a path names the replica that asked, and any replica passes a
// webhook on to that one, over one hop. The name is a hash of the pod's address, and is looked for among the addresses that the replicas'
// own headless Service has: no path can make a replica dial anything else. What was passed on is marked and never passed on again; whoever
// forges the mark only keeps his own request from being passed on.
package serve
