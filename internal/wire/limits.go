package wire

import "cmp"

// Limits bound everything that a peer can send. Zero fields take DefaultLimits. Bodies are counted twice, as they come
// and after inflation, against the same limit.
type Limits struct {
	CardBytes   int64 // of a card, 1 MiB (C61 asks for at least that)
	BodyBytes   int64 // of a unary answer, 4 MiB
	EventBytes  int   // of one SSE event or gRPC message of a stream, 1 MiB
	StreamBytes int64 // of one stream in all, 16 MiB
	Events      int   // events of one stream, 10,000
	HeaderBytes int64 // of the headers of one answer, 64 KiB
}

// DefaultLimits are the limits of the wire reference, section 10.
func DefaultLimits() Limits {
	return Limits{
		CardBytes:   1 << 20,
		BodyBytes:   4 << 20,
		EventBytes:  1 << 20,
		StreamBytes: 16 << 20,
		Events:      10_000,
		HeaderBytes: 64 << 10,
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
	}
}
