package wire

import (
	"cmp"
	"time"
)

// Limits bound everything that a peer can send. Zero fields take DefaultLimits. Bodies are counted twice, as they come
// and after inflation, against the same limit.
type Limits struct {
	CardBytes   int64 // of a card, 1 MiB (C61 asks for at least that)
	BodyBytes   int64 // of a unary answer, 4 MiB
	EventBytes  int   // of one SSE event or gRPC message of a stream, 1 MiB
	StreamBytes int64 // of one stream in all, 16 MiB
	Events      int   // events of one stream, 10,000
	HeaderBytes int64 // of the headers of one answer, 64 KiB; its trailers, and the interim answers before it, are bounded likewise
	JSONDepth   int   // objects and arrays in each other, in any answer, event or card, 512
	// MinRate is how many bytes a card brings, once it has begun, in every 5 s until it is whole; 1 KiB. A unary answer that has begun brings
	// one byte in every 30 s at least: some servers send a first byte, or a space now and then, while the agent still thinks. Negative:
	// neither. Streams are silent as their tasks are, and bounded by whoever reads them.
	MinRate int64
}

// pace is the least that a body brings in a window.
type pace struct {
	bytes  int64
	window time.Duration
}

// ofCard and ofAnswer are the paces of the two kinds of bodies that are read whole.
func (l Limits) ofCard() pace { return pace{l.MinRate, 5 * time.Second} }

func (l Limits) ofAnswer() pace { return pace{min(l.MinRate, 1), 30 * time.Second} }

// DefaultLimits are the limits of the wire reference, section 10.
func DefaultLimits() Limits {
	return Limits{
		CardBytes:   1 << 20,
		BodyBytes:   4 << 20,
		EventBytes:  1 << 20,
		StreamBytes: 16 << 20,
		Events:      10_000,
		HeaderBytes: 64 << 10,
		JSONDepth:   512,
		MinRate:     1 << 10,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		CardBytes:   cmp.Or(l.CardBytes, d.CardBytes),
		BodyBytes:   cmp.Or(l.BodyBytes, d.BodyBytes),
		EventBytes:  cmp.Or(l.EventBytes, d.EventBytes),
		StreamBytes: cmp.Or(l.StreamBytes, d.StreamBytes),
		Events:      cmp.Or(l.Events, d.Events),
		HeaderBytes: cmp.Or(l.HeaderBytes, d.HeaderBytes),
		JSONDepth:   cmp.Or(l.JSONDepth, d.JSONDepth),
		MinRate:     cmp.Or(l.MinRate, d.MinRate),
	}
}
