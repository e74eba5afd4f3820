package card

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// object is a JSON object whose members are not parsed yet: each is read by itself, so that one odd member loses nothing
// else.
type object map[string]json.RawMessage

// readObject splits an object into its members. ok is false if raw is anything else, null and absent included. Of a
// member that is named twice the last one counts, as in encoding/json, and duplicate is true.
func readObject(raw json.RawMessage) (o object, duplicate, ok bool) {
	o, twice, ok := readMembers(raw)
	return o, twice != nil, ok
}

// readMembers does the same, and says of the members that are named twice whether they have two values.
func readMembers(raw json.RawMessage) (o object, twice map[string]bool, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	o = object{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, nil, false
		}
		key, isString := name.(string)
		var value json.RawMessage
		if !isString || dec.Decode(&value) != nil {
			return nil, nil, false
		}
		if before, there := o[key]; there {
			if twice == nil {
				twice = map[string]bool{}
			}
			twice[key] = twice[key] || !bytes.Equal(before, value)
		}
		o[key] = value
	}
	return o, twice, true
}

// present tells a member that is there from one that is absent or null.
func (o object) present(name string) bool { return !isNull(o[name]) }

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// maxItems bounds the work that one list or map can cause. No card in the wild comes near it; what is beyond is not read
// at all.
const maxItems = 4096

// readArray splits an array, of which it gives the first maxItems; ok is false if raw is anything else.
func readArray(raw json.RawMessage) (list []json.RawMessage, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, false
	}
	for len(list) < maxItems && dec.More() {
		var item json.RawMessage
		if dec.Decode(&item) != nil {
			return nil, false
		}
		list = append(list, item)
	}
	return list, true
}

// names lists the members, sorted, at most maxItems of them.
func (o object) names() []string {
	list := slices.Sorted(maps.Keys(o))
	return list[:min(len(list), maxItems)]
}

// readString reads a string; ok is false if raw is anything else, null and absent included.
func readString(raw json.RawMessage) (s string, ok bool) {
	if isNull(raw) || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// readText reads a string, or a number as it is written: names and versions come as numbers in the wild (C59).
func readText(raw json.RawMessage) (string, bool) {
	if s, ok := readString(raw); ok {
		return s, true
	}
	var n json.Number
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if isNull(raw) || dec.Decode(&n) != nil {
		return "", false
	}
	return n.String(), true
}

// readStrings reads an array of strings. clean is false if there was anything else, which is left out.
func readStrings(raw json.RawMessage) (list []string, clean bool) {
	if isNull(raw) {
		return nil, true
	}
	items, ok := readArray(raw)
	if !ok {
		return nil, false
	}
	clean = true
	for _, item := range items {
		s, ok := readString(item)
		if !ok {
			clean = false
			continue
		}
		list = append(list, s)
	}
	return list, clean
}
