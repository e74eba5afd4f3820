// Package wire carries exchanges with A2A peers and is the only place that opens sockets.
//
//	c, err := wire.NewClient(wire.Options{AllowHosts: []string{"planner.travel.svc:8080"}})
//	defer c.Close()
//	page, err := c.Get(ctx, cardURL, http.Header{"A2A-Version": {"1.0"}})
//	peer, err := wire.Open(c, wire.BindingJSONRPC, wire.Endpoint{URL: u, Generation: wire.V10})
//	stream, err := peer.SendStream(ctx, message, wire.SendConfig{})
//	for e := range stream.Events() { ... }
//	how := stream.End()
//
// A binding is a way to carry an exchange: it writes the question and reads the answer, and connections, redirects, limits,
// streams and traces are the same code for all (open, answer, stream). Its Peer answers in the same terms as the others.
//
// It reads leniently and notes what was odd; it judges nothing. An answer of the protocol, a JSON-RPC error included
// and whatever the HTTP status, is an Answer or an Event. Everything below the protocol is an *Error with a Class. An
// Answer with Status 401 or 429 is still a matter of access or load, so look at Status before the code.
//
// Trade-offs made on purpose:
//
//   - gRPC is HTTP/2 requests of this client with the SDKs' messages, and no gRPC client: guard, credentials, limits, ends
//     and trace are then those of every binding. Protobuf is rewritten as ProtoJSON in place and read by the one reader
//     (docs/decisions/wire-grpc.md).
//   - The guard looks at the address about to be dialled, after DNS, and at nothing else: no list of forbidden names
//     can be complete. A proxy would hide that address, so there is none (docs/decisions/wire-guard.md).
//   - HTTP+JSON has many words for one error and one status for many meanings. The reason decides, then a JSON-RPC code, and
//     a status only where it accuses nobody (docs/decisions/wire-rest.md). A path that is not known is ClassRoute.
//   - No timeout but those of dialling (3 s) and the TLS handshake (5 s). Some servers send no header before the first
//     event, so how long to wait is the caller's business, by the context. Every call and every stream ends with its
//     context.
//   - The SSE decoder and the walk over JSON are our own: what they would smooth over is what we are here to see
//     (docs/decisions/wire-own-decoders.md).
//   - net/http decides little: redirects, credentials, inflation and limits are decided here, for every hop and every
//     byte. Limits count before and after inflation. gzip is known by its first bytes, whatever the headers say.
//   - How a body ended is kept: last chunk, END_STREAM or the announced length is one thing, a reset another, and the
//     mere close of an HTTP/1 connection a third, which cannot be told from a cut.
//   - A stream is read by one goroutine into a bounded channel. A slow reader slows the peer down and loses nothing;
//     times are taken when bytes are read, not when events are taken out. It ends with the body, the context or Close.
//   - An HTML page is an *Error (MediaType, or Status where the status says no), for streams as for unary calls:
//     nothing of the protocol came back. Stream.Unary is for answers of the protocol that are no stream.
//   - A pool of connections lives for one Client, and a Client for one round: no connection, TLS session or credential
//     is shared between peers or tenants. Only parsed CA bundles are kept, by their hash, and
//     access tokens, by the Secret that they were got with (docs/decisions/credentials.md).
//   - Error texts hold nothing of the peer's. What Unwrap returns may, as may an Exchange: print neither unsanitised.
//     net/http itself tells package log of bytes that a peer sends on an idle connection; a program that may not print
//     such bytes has to point the standard logger elsewhere.
package wire
