package ports

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// `make test` once failed because a test that ran beside listened on the port of "nobody listens".
func TestAClosedPortIsNobodysAndRefuses(t *testing.T) {
	at := Closed(t)
	if l, err := net.Listen("tcp", at); err == nil {
		_ = l.Close()
		t.Errorf("somebody else may listen on %s", at)
	}
	if c, err := net.Dial("tcp", at); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling it: %v %v, want a refusal", c, err)
	}
}

func TestAFreePortIsOneThatTheSystemGivesToNobody(t *testing.T) {
	port, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if given := l.Addr().(*net.TCPAddr).Port; given >= first && given <= last {
			t.Fatalf("the system gave out %d, between %d and %d", given, first, last)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
