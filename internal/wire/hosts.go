package wire

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// hostSet is a list of hosts of a policy: names with all that is below them, and addresses.
type hostSet struct {
	names     map[string]bool
	addresses map[netip.Addr]bool
}

// newHostSet checks the entries of a list.
func newHostSet(doing string, entries []string) (hostSet, error) {
	s := hostSet{names: map[string]bool{}, addresses: map[netip.Addr]bool{}}
	for _, entry := range entries {
		if ip, err := netip.ParseAddr(entry); err == nil && ip.Zone() == "" {
			s.addresses[ip.Unmap()] = true
			continue
		}
		name := hostName(strings.TrimPrefix(entry, "."))
		if fault := hostFault(entry, name); fault != "" {
			return hostSet{}, fmt.Errorf("%s: %q %s: write a name such as example.com, which means the names below it too, or an address", doing, entry, fault)
		}
		s.names[name] = true
	}
	return s, nil
}

// hostFault says what is wrong with an entry, whose name is its host in one spelling; empty if nothing is.
func hostFault(entry, name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.ContainsFunc(entry, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "holds blanks"
	case strings.Contains(entry, "://"):
		return "carries a scheme"
	case strings.Contains(entry, "*"):
		return "carries a wildcard"
	case strings.ContainsAny(entry, "/?#"):
		return "carries a path"
	case strings.ContainsAny(entry, "@"):
		return "carries a user name"
	case strings.ContainsAny(entry, ":[]%"):
		return "carries a port, brackets or a zone"
	case strings.Contains(name, "..") || strings.HasPrefix(name, ".") || strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f }):
		return "is not a name"
	}
	return ""
}

// has tells whether a host is one of the set: equal to an entry, or a name below one, by whole labels.
func (s hostSet) has(host string) bool {
	if len(s.names)+len(s.addresses) == 0 {
		return false
	}
	name := hostName(host)
	if ip, err := netip.ParseAddr(name); err == nil {
		return s.addresses[plain(ip)]
	}
	for name != "" {
		if s.names[name] {
			return true
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return false
}

// hostName is a host in one spelling: ASCII, as net/http will dial it, in lower case, without dots at its end.
func hostName(host string) string {
	if strings.ContainsFunc(host, func(r rune) bool { return r > 0x7f }) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			host = ascii
		}
	}
	return strings.TrimRight(strings.ToLower(host), ".")
}

// portNumber is the effective port of a URL, 0 if it has none that can be dialled.
func portNumber(u *url.URL) uint16 {
	n, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}
