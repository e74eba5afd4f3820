// Package sdk starts honest A2A servers built on released third-party SDKs, so that tests and the demo can judge peers that
// nobody here wrote.
//
// Each server is a process on a loopback port with the script of test/agent: "ping" is answered with "pong", "count ..."
// works long and can be canceled, "book ..." asks where to unless told, and continues. `make sdk` (test/sdk/build.sh)
// builds them into bin/sdk; AGENTPEER_SDK_PEERS names another folder. The sources stand beside this file, each with its own module or
// package file, so that the main module depends on none of them.
//
// Peers are the servers as they speak JSON-RPC, OtherBindings the same programs where the card lists another binding instead; a2a-go 0.3.15
// and a2a-js 0.2.5 have no HTTP+JSON server. Those that speak gRPC have a second port for it, which their cards name without a scheme.
//
// How they differ on the wire: a2a-go writes an id line before each event and closes streams at
// input-required; a2a-go 0.3.15 calls unary answers text/plain and wraps error data in an object; a2a-js 1.3.0 refuses
// requests without A2A-Version; a2a-js sends the canceled frame after the cancel's answer or just before it; a2a-js 0.2.5
// answers a cancel with the working task and cancels later, serves its card at agent.json only, and declares push
// notifications, accepts webhooks and never calls them, because it has no sender: the one lie among them, and not of our making.
package sdk
