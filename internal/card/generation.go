package card

import (
	"regexp"
	"strings"
)

// version is what we take for a protocol version: numbers with dots, a pre-release mark allowed.
var version = regexp.MustCompile(`^[0-9]{1,4}(\.[0-9]{1,4}){0,3}([-+][0-9A-Za-z.+-]{1,32})?$`)

// readVersion tidies a declared version; empty if it is none.
func readVersion(s string) string {
	s = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "v")
	if !version.MatchString(s) {
		return ""
	}
	return s
}

// Generation of the wire that the declared version stands for: "1.0" for all of 1.x, "0.3", "0.2" or "0.1"; another
// major.minor as it is, which we do not speak; empty if the card has no version, which is left to the prober
// (message/send with empty params tells 0.1 from later). The words are those of wire.Generation.
func (i Interface) Generation() string { return generation(i.ProtocolVersion) }

func generation(v string) string {
	v = readVersion(v)
	if v == "" {
		return ""
	}
	v, _, _ = strings.Cut(v, "-")
	v, _, _ = strings.Cut(v, "+")
	major, rest, _ := strings.Cut(v, ".")
	minor, _, _ := strings.Cut(rest, ".")
	major, minor = trimZeros(major), trimZeros(minor)
	if major == "1" {
		return "1.0"
	}
	return major + "." + minor
}

func trimZeros(s string) string {
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return s
}

// old says that the interface is of 0.x: by its version, or, where it has none, by the members it came from.
func (i Interface) old() bool {
	if g := i.Generation(); g != "" {
		return strings.HasPrefix(g, "0.")
	}
	return i.Legacy
}
