package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A peer that answers nothing, or has the connection flooded, cannot keep it once the client is closed: not even where the request itself was
// never given up.
func TestSecurityHostileConnectionsEndWithTheirClient(t *testing.T) {
	for name, ask := range map[string]func(*Client, *url.URL) error{
		"HTTP": func(c *Client, at *url.URL) error {
			_, err := c.Get(context.Background(), at, http.Header{})
			return err
		},
		"gRPC": func(c *Client, at *url.URL) error {
			p, err := Open(c, BindingGRPC, Endpoint{URL: at, Generation: V10})
			if err != nil {
				return err
			}
			_, err = p.GetTask(context.Background(), "t", nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { endsWithItsClient(t, ask) })
	}
}

func endsWithItsClient(t *testing.T, ask func(*Client, *url.URL) error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked, hungUp := make(chan struct{}), make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			hungUp <- err
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 4096))
		close(asked)
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = io.Copy(io.Discard, c)
		hungUp <- err
	}()
	client, err := NewClient(Options{AllowHosts: []string{l.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- ask(client, &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}) }()
	<-asked
	client.Close()
	if err := <-hungUp; err != nil {
		t.Errorf("the connection is open still: %v", err)
	}
	if err := <-answered; err == nil {
		t.Error("there was an answer")
	}
}

// What is dialled for a request that was given up arrives when the client is closed.
func TestSecurityHostileConnectionsThatComeLateAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		late := track()
		late.close()
		time.Sleep(2 * closeGrace) // of the clock of this test
		if c, err := late.add(ours); err == nil || c != nil {
			t.Fatal("it is used")
		}
		if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("it is open: %v", err)
		}
	})
}

// A peer that switches protocols unasked hands out the bare connection, whose reads no context ends.
func TestSecurityHostileSwitchOfProtocolsIsNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nmore")
		_, _ = io.Copy(io.Discard, c)
	}()
	client, err := NewClient(Options{AllowHosts: []string{l.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Get(context.Background(), &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}, http.Header{})
	var e *Error
	if !errors.As(err, &e) || e.Class != ClassNoHTTP {
		t.Errorf("%v, want no HTTP", err)
	}
}

// A peer that floods us with pings and reads none of the answers kept a round for ever: whoever takes leave of HTTP/2 waits for the write
// before its own, and an ended context ends no write.
func TestSecurityHostilePeersThatReadNothingEndNoRoundLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c, err := track().add(ours)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range 2 { // the second is not held to the time of the first
			began := time.Now()
			_, err = c.Write([]byte("PONG"))
			if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took != writeTimeout {
				t.Errorf("writing to a peer that reads nothing ended with %v after %s", err, took)
			}
		}
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		if _, err := c.Write([]byte("PONG")); err != nil {
			t.Errorf("writing to a peer that reads: %v", err)
		}
	})
}
