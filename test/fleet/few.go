package fleet

// Few takes some scripted peers of a fleet, spread over it: for a look at whether all of this works.
func Few(peers []Peer) []Peer {
	var scripted, few []Peer
	for _, p := range peers {
		if p.SDK == "" {
			scripted = append(scripted, p)
		}
	}
	for i := 0; i < len(scripted); i += max(len(scripted)/8, 1) {
		few = append(few, scripted[i])
	}
	return few
}
