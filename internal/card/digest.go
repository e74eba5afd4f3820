package card

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/agentpeer/agentpeer/internal/trust"
)

// claims is the form that the digest is taken of: everything that a caller acts on and nothing else (design 4.7). Every
// list is sorted, so neither order, descriptions, signatures, unknown members nor spacing change it. Field order is part
// of the digest: a change here is a new claim of every peer.
type claims struct {
	Interfaces   []claimedInterface
	Capabilities []trust.Capability
	Schemes      []scheme
	Alternatives []string
	InputModes   []string
	OutputModes  []string
	Skills       []claimedSkill
}

type claimedInterface struct {
	URL, Binding, Version, Tenant string
}

type claimedSkill struct {
	ID                      string
	InputModes, OutputModes []string
}

func digest(c *Card, skills []skill, s security) string {
	form := claims{
		Capabilities: declaredNames(c.flags),
		Schemes:      sortedSchemes(s.schemes),
		Alternatives: sortedAlternatives(s.alternatives),
		InputModes:   sortedCopy(c.DefaultInputModes),
		OutputModes:  sortedCopy(c.DefaultOutputModes),
	}
	for _, in := range c.Interfaces {
		form.Interfaces = append(form.Interfaces, claimedInterface{in.URL.String(), in.Binding, in.ProtocolVersion, in.Tenant})
	}
	slices.SortFunc(form.Interfaces, func(a, b claimedInterface) int {
		return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Binding, b.Binding),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Tenant, b.Tenant))
	})
	for _, k := range skills {
		form.Skills = append(form.Skills, claimedSkill{k.ID, sortedCopy(k.InputModes), sortedCopy(k.outputModes)})
	}
	slices.SortFunc(form.Skills, func(a, b claimedSkill) int { return cmp.Compare(a.ID, b.ID) })

	text, err := json.Marshal(form)
	if err != nil {
		panic(err) // strings and lists of strings always marshal
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// declaredNames joins both spellings of the extended card: which one a client reads depends on its interface, and
// interfaces are in the digest too.
func declaredNames(f flags) []trust.Capability {
	var list []trust.Capability
	for name, d := range f.declaredBy(nil) {
		if d == trust.Declared {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func sortedSchemes(list []scheme) []scheme {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b scheme) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), slices.Compare(a.Detail, b.Detail))
	})
	return list
}

// sortedAlternatives spells each alternative as JSON and drops repeats: union cards say the same in two members.
func sortedAlternatives(list [][]requirement) []string {
	var words []string
	for _, a := range list {
		text, err := json.Marshal(a)
		if err != nil {
			panic(err) // strings and lists of strings always marshal
		}
		words = append(words, string(text))
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func sortedCopy(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
