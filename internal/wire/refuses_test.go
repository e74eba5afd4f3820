package wire

import (
	"net/netip"
	"testing"
)

func TestRefusesJudgesLiteralsOnly(t *testing.T) {
	private := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for host, want := range map[string]bool{
		"169.254.169.254": true, "127.0.0.1": true, "::1": true, "::ffff:169.254.169.254": true, "192.168.1.1": true,
		"10.1.2.3": false, "93.184.215.14": false, "planner.example.com": false, "localhost": false, "2130706433": false, "": false,
	} {
		if got := Refuses(host, private); got != want {
			t.Errorf("Refuses(%q) = %v, want %v", host, got, want)
		}
	}
}
