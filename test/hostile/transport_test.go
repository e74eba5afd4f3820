package hostile

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// answerOK is a well-formed answer of HTTP/1.1 up to where it goes wrong.
const answerOK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// Answers that break HTTP/1.
func TestSecurityHostileHTTP(t *testing.T) {
	// says answers each request of the endpoint with some text, and hangs up or holds the connection.
	says := func(text string, hold bool) func(*stand) {
		return func(s *stand) {
			s.rawEndpoint(withRequest(func(c net.Conn) {
				s.met.Add(1)
				_, _ = io.WriteString(c, text)
				if hold {
					_, _ = io.Copy(io.Discard, c)
				}
			}))
		}
	}
	endless := func(head, again string) func(*stand) {
		return func(s *stand) {
			s.rawEndpoint(withRequest(func(c net.Conn) {
				_, _ = io.WriteString(c, head)
				s.forever(c, []byte(again))
			}))
		}
	}
	reset := func(c net.Conn) {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	each(t, []peer{
		{name: "a giant header", stand: says(answerOK+"X-A: "+strings.Repeat("a", 2<<20)+"\r\nContent-Length: 2\r\n\r\n{}", false)},
		{name: "100,000 headers", stand: says(answerOK+strings.Repeat("X-A: b\r\n", 100_000)+"Content-Length: 2\r\n\r\n{}", false)},
		{name: "a header without an end", stand: endless(answerOK+"X-A: ", strings.Repeat("a", 4096))},
		{name: "headers without an end", stand: endless(answerOK, strings.Repeat("X-A: b\r\n", 500))},
		{name: "a status line without an end", stand: endless("HTTP/1.1 200 ", strings.Repeat("a", 4096))},
		{name: "interim answers without an end", stand: endless("", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 100))},
		{name: "early hints without an end", stand: endless("", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", 100))},
		{name: "giant early hints", stand: endless("", "HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("a", 50<<10)+"\r\n\r\n")},
		{name: "chunks without an end", stand: endless(answerOK+"Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n")},
		{name: "a giant chunk", stand: endless(answerOK+"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", strings.Repeat("a", 4096))},
		{name: "chunk extensions without an end", stand: endless(answerOK+"Transfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("a", 4096))},
		{name: "chunks of extensions", stand: endless(answerOK+"Transfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("a", 3000)+"\r\n \r\n")},
		{name: "trailers without an end", stand: endless(answerOK+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", strings.Repeat("X-A: b\r\n", 500))},
		{name: "headers byte by byte", stand: func(s *stand) {
			s.rawEndpoint(withRequest(func(c net.Conn) { s.drip(c, []byte(answerOK), time.Second) }))
		}},
		{name: "a body byte by byte", stand: func(s *stand) {
			s.rawEndpoint(withRequest(func(c net.Conn) {
				_, _ = io.WriteString(c, answerOK+"Content-Length: 1000000\r\n\r\n")
				s.drip(c, []byte("{"), time.Second)
			}))
		}},
		{name: "a length too long", stand: says(answerOK+"Content-Length: 1000\r\n\r\n{}", true)},
		{name: "a length too long, and gone", stand: says(answerOK+"Content-Length: 1000\r\n\r\n{}", false)},
		{name: "a length too short", stand: says(answerOK+`Content-Length: 1`+"\r\n\r\n"+`{"jsonrpc":"2.0"}`+answerOK, false)},
		{name: "a length of 2^63", stand: says(answerOK+"Content-Length: 9223372036854775807\r\n\r\n{}", true)},
		{name: "a length below zero", stand: says(answerOK+"Content-Length: -1\r\n\r\n{}", false)},
		{name: "two lengths", stand: says(answerOK+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", false)},
		{name: "two framings", stand: says(answerOK+"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+answerOK, false)},
		{name: "two answers at once", stand: says(strings.Repeat(answerOK+"Content-Length: 2\r\n\r\n{}", 1000), true)},
		{name: "a switch of protocols", stand: says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"+strings.Repeat("x", 1<<20), true)},
		{name: "HTTP/0.9", stand: says(`{"jsonrpc":"2.0"}`, false)},
		{name: "HTTP/9.9", stand: says("HTTP/9.9 200 OK\r\n\r\n{}", false)},
		{name: "folded headers", stand: says(answerOK+"X-A: a\r\n b\r\n\tc\r\nContent-Length: 2\r\n\r\n{}", false)},
		{name: "garbage", stand: endless("", string(bytes.Repeat([]byte{0, 255, 13, 10, 7}, 1000)))},
		{name: "an answer before the request", stand: func(s *stand) {
			s.rawEndpoint(func(c net.Conn) {
				s.met.Add(1)
				_, _ = io.WriteString(c, answerOK+"Content-Length: 2\r\n\r\n{}")
				_, _ = io.Copy(io.Discard, c)
			})
		}},
		{name: "reset at once", stand: func(s *stand) {
			s.rawEndpoint(func(c net.Conn) { s.met.Add(1); reset(c) })
		}},
		{name: "reset after the request", stand: func(s *stand) {
			s.rawEndpoint(withRequest(func(c net.Conn) { s.met.Add(1); reset(c) }))
		}},
		{name: "reset in the headers", stand: func(s *stand) {
			s.rawEndpoint(withRequest(func(c net.Conn) { s.met.Add(1); _, _ = io.WriteString(c, answerOK); reset(c) }))
		}},
		{name: "reset in the body", stand: func(s *stand) {
			s.on(unary, func(w http.ResponseWriter, _ *http.Request, _ call) {
				if c, ok := s.hijack(w); ok {
					_, _ = io.WriteString(c, answerOK+"Content-Length: 1000\r\n\r\n{")
					reset(c)
				}
			})
		}},
		{name: "reset in the stream", stand: func(s *stand) {
			s.on(streams, func(w http.ResponseWriter, _ *http.Request, rpc call) {
				if c, ok := s.hijack(w); ok {
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"+event(rpc, update("t", "TASK_STATE_WORKING")))
					reset(c)
				}
			})
		}},
		{name: "requests are never read", stand: func(s *stand) {
			s.rawEndpoint(func(net.Conn) { s.met.Add(1); <-s.over.Done() })
		}},
	})
}

// Certificates and handshakes that are none.
func TestSecurityHostileTLS(t *testing.T) {
	// presents serves TLS with a certificate, to whoever takes it. Who knows its issuer is told by known.
	presents := func(change func(*x509.Certificate), known bool, config func(*tls.Config)) func(*stand) {
		return func(s *stand) {
			id := s.issue(change)
			if known {
				s.CA = id.pem
			}
			c := &tls.Config{Certificates: []tls.Certificate{id.Certificate}}
			if config != nil {
				config(c)
			}
			at := s.raw(func(conn net.Conn) {
				s.met.Add(1)
				secured := tls.Server(conn, c)
				if secured.Handshake() == nil && readRequest(secured) == nil {
					s.t.Error("a request was sent") // tls.Conn serves the rest of this table's purpose: nobody may get as far as this
				}
			})
			s.URL = "https://" + at
		}
	}
	// plain serves bytes where a handshake belongs.
	plain := func(serve func(s *stand, c net.Conn)) func(*stand) {
		return func(s *stand) {
			s.URL = "https://" + s.raw(func(c net.Conn) {
				_, _ = c.Read(make([]byte, 4096))
				serve(s, c)
			})
		}
	}
	record := func(kind byte, body ...byte) []byte {
		return append([]byte{kind, 3, 3, byte(len(body) >> 8), byte(len(body))}, body...)
	}
	each(t, []peer{
		{name: "expired", stand: presents(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, true, nil)},
		{name: "not yet", stand: presents(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }, true, nil)},
		{name: "another host's", stand: presents(func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.invalid"} }, true, nil)},
		{name: "self-signed", stand: presents(nil, false, nil)},
		{name: "no server's", stand: presents(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, true, nil)},
		{name: "TLS 1.0", stand: presents(nil, true, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10 })},
		{name: "TLS 1.1", stand: presents(nil, true, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 })},
		{name: "a giant chain", stand: func(s *stand) {
			id := s.issue(func(c *x509.Certificate) {
				for i := range 2000 {
					c.DNSNames = append(c.DNSNames, fmt.Sprintf("host-%d.invalid", i))
				}
			})
			for range 50 {
				id.Certificate.Certificate = append(id.Certificate.Certificate, id.Certificate.Certificate[0])
			}
			s.URL = "https://" + s.raw(func(conn net.Conn) {
				s.met.Add(1)
				_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{id.Certificate}}).Handshake()
			})
		}},
		{name: "a handshake that never ends", stand: plain(func(s *stand, c net.Conn) { s.met.Add(1); _, _ = io.Copy(io.Discard, c) })},
		{name: "a handshake byte by byte", stand: plain(func(s *stand, c net.Conn) { s.drip(c, record(22, 2, 0, 255, 255), 100*time.Millisecond) })},
		{name: "a handshake without an end", stand: plain(func(s *stand, c net.Conn) {
			_, _ = c.Write(record(22, 2, 255, 255, 255))
			s.forever(c, record(22, bytes.Repeat([]byte{0}, 1<<14)...))
		})},
		{name: "alerts", stand: plain(func(s *stand, c net.Conn) { s.forever(c, bytes.Repeat(record(21, 1, 90), 100)) })},
		{name: "empty records", stand: plain(func(s *stand, c net.Conn) { s.forever(c, bytes.Repeat(record(22), 100)) })},
		{name: "changes of cipher", stand: plain(func(s *stand, c net.Conn) { s.forever(c, bytes.Repeat(record(20, 1), 100)) })},
		{name: "garbage", stand: plain(func(s *stand, c net.Conn) { s.forever(c, bytes.Repeat([]byte("no handshake"), 100)) })},
		{name: "plain text", stand: plain(func(s *stand, c net.Conn) {
			s.met.Add(1)
			_, _ = io.WriteString(c, answerOK+"Content-Length: 2\r\n\r\n{}")
		})},
		{name: "a handshake record in plain text once it is over", stand: func(s *stand) {
			id := s.issue(nil)
			s.CA = id.pem
			s.URL = "https://" + s.raw(func(conn net.Conn) {
				c := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{id.Certificate}, MaxVersion: tls.VersionTLS12})
				if c.Handshake() != nil || readRequest(c) != nil {
					return
				}
				s.met.Add(1)
				_, _ = conn.Write(record(22, 0, 0, 0, 0)) // a request to negotiate anew
				_, _ = io.Copy(io.Discard, conn)
			})
		}},
		{name: "cut after the handshake", stand: func(s *stand) {
			id := s.issue(nil)
			s.CA = id.pem
			s.URL = "https://" + s.raw(func(conn net.Conn) {
				c := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{id.Certificate}})
				if c.Handshake() == nil {
					s.met.Add(1)
				}
			})
		}},
	})
}
