package trust

import "slices"

// RefusedModes are the declared input modes that earlier rounds saw refused, for the next round to ask about.
func RefusedModes(p Peer) []string {
	rec, _ := p.find(InputModes)
	return slices.Clone(rec.RefusedModes)
}
