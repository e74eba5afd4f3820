// Package proxy stands in front of any A2A peer and does to its traffic what networks, balancers, gateways and deploys do: it cuts
// streams in good order or by a reset, buffers them, turns requests away, sends them to replicas that share nothing, answers from a store
// that lags, rewrites task ids, and refuses connections for a while.
//
//	p, err := proxy.New(seed, backend)
//	p.Set(proxy.Fault{CutAfter: time.Second})
//
// The peer behind it is not touched: nothing that the proxy does is a lie of the peer's, which is what it is for. Cards are rewritten so
// that the interfaces that they name lead back to the proxy. It speaks HTTP/1.1 and HTTP/2 without TLS, so gRPC goes through it too.
//
// Trade-offs made on purpose: one Fault is active at a time and holds for every request that begins while it is set; chance is drawn
// from the seed, request by request, so that a run can be repeated as far as the order of requests repeats. Lag is known for JSON-RPC
// only, as only there a question can be asked again for somebody else.
package proxy
