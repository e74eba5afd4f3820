// Package ports gives addresses on loopback to whoever has to name one before somebody listens there, or where nobody ever will.
//
// The port that a listener on port 0 leaves behind does for neither: the system gives it to the next who asks, and the tests that run
// beside ask all the time.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// Ports that no system of ours gives to listeners on port 0 or to connections: both Linux (from 32768) and macOS (from 49152) take higher
// ones.
const first, last = 20000, 32767

// Free is a TCP port that nobody listens on now, on any address of this machine, and that the system gives to nobody by itself.
func Free() (int, error) {
	var err error
	for range 100 {
		port := first + rand.IntN(last-first+1)
		var l net.Listener
		if l, err = net.Listen("tcp", ":"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d: %w", first, last, err)
}

// OnLoopback is 127.0.0.1 with a free port.
func OnLoopback() (string, error) {
	port, err := Free()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

// Closed is an address of loopback that refuses connections until the test ends: its port is taken, and nobody listens.
func Closed(t testing.TB) string {
	t.Helper()
	syscall.ForkLock.RLock()
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(s)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(s) })
	if err := syscall.Bind(s, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(s)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*syscall.SockaddrInet4).Port))
}
