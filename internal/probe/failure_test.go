package probe

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/test/agent"
)

// A card that never came whole is told by what went wrong, not by the status that began it; and a server that speaks no HTTP serves no card,
// good or bad.
func TestWhatIsSaidOfACardThatCouldNotBeRead(t *testing.T) {
	t.Parallel()
	for story, tc := range map[string]struct {
		base   func(*testing.T) string
		reason trust.Reason
		says   string
	}{
		"too large":          {served("giant-card"), trust.ReasonCardMalformed, "an answer larger than the limit"},
		"dripped":            {served("drips"), trust.ReasonUnreachable, "no answer in time"},
		"404":                {served("card-404"), trust.ReasonCardUnavailable, "no card under either"},
		"503":                {served("status-503"), trust.ReasonServerError, "HTTP 503"},
		"an SSH banner":      {banner("SSH-2.0-OpenSSH_9.6\r\n"), trust.ReasonUnreachable, "does not speak HTTP"},
		"an SMTP greeting":   {banner("220 mail.example.invalid ESMTP\r\n"), trust.ReasonUnreachable, "does not speak HTTP"},
		"half a status line": {banner("HTTP/1.1 abc\r\n\r\n"), trust.ReasonUnreachable, "does not speak HTTP"},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			job := jobFor(t, tc.base(t), trust.Streaming)
			job.Target.Timing.FirstEvent = 500 * time.Millisecond
			reach := runJob(t, job).Round.Reach
			if reach.Reason != tc.reason || !strings.Contains(reach.Message, tc.says) {
				t.Errorf("%s %q, want %s and %q in it", reach.Reason, reach.Message, tc.reason, tc.says)
			}
		})
	}
}

func served(quirk string) func(*testing.T) string {
	return func(t *testing.T) string { return with(agent.V10, quirk).Start(t) }
}

// banner is a server that greets and hangs up.
func banner(text string) func(*testing.T) string {
	return func(t *testing.T) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					buf := make([]byte, 512)
					_, _ = c.Read(buf)
					_, _ = c.Write([]byte(text))
					_ = c.Close()
				}()
			}
		}()
		return "http://" + l.Addr().String()
	}
}
