package wire

import (
	"encoding/json"
	"net/url"
)

// Generation of the protocol that an interface speaks.
type Generation string

// The generations on the wire. V02 covers 0.2.x, which speaks 0.3's JSON-RPC.
const (
	V01 Generation = "0.1"
	V02 Generation = "0.2"
	V03 Generation = "0.3"
	V10 Generation = "1.0"
)

// Endpoint is one interface of a peer.
type Endpoint struct {
	URL *url.URL
	// Generation to speak; one that is none of ours, or empty, is taken for 1.0.
	Generation Generation
	// Version is sent as A2A-Version to 1.x, cut to major and minor because peers refuse patch numbers; empty means
	// "1.0". Nothing is sent to 0.x, which knows no such header.
	Version string
	// Tenant is echoed in every 1.x request (1.0 section 8.3.2, C99); 0.x has no place for it.
	Tenant string
	// Identity says what tells tasks apart besides their ids.
	Identity Identity
}

// Part of a message. Exactly one of Text, Data, Raw is set.
type Part struct {
	Text string
	// Data is a JSON value; 0.x peers expect an object.
	Data json.RawMessage
	Raw  []byte
	// MediaType goes with Raw in every generation and with Text and Data in 1.0, whose parts have a place for it.
	MediaType string
}

// Message that we send.
type Message struct {
	MessageID string // made by Send if empty
	TaskID    string // of the task to continue; in 0.1 the client-made id of a new task too, made by Send if empty
	ContextID string // 0.1: sessionId
	Parts     []Part
	// Metadata of the message. In 0.1 it is sent twice, in the message and beside it: that generation's servers look in
	// either place, and the workers of the founding incident look beside it.
	Metadata map[string]any
}

// SendConfig is the configuration of a send or stream.
type SendConfig struct {
	// ReturnImmediately: 1.0 returnImmediately, 0.2/0.3 blocking:false. Nil leaves it out of 1.0 and is blocking:true
	// in 0.2/0.3, where a configuration without it makes some servers return at once (C44). 0.1 has no such choice.
	ReturnImmediately *bool
	// AcceptedOutput media types. 0.2/0.3 require the member, so an empty list is sent as text/plain and
	// application/json there; 1.0 leaves it out; 0.1 has no place for it.
	AcceptedOutput []string
	HistoryLength  *int
	// Push registers a webhook along with the message; nil: none.
	Push *PushConfig
}
