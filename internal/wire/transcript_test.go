package wire

import (
	"encoding/json"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// transcript is the streaming answer of one of the cases (testdata/transcripts.json).
type transcript struct {
	Case       string
	Generation Generation
	Frames     []string
	End        string // ok: the last chunk; hold: the connection stays open
}

var pID = regexp.MustCompile(`"p\d"`)

// TestTranscripts replays what peers really sent. "hold" is ended from our side once all events are there.
func TestTranscripts(t *testing.T) {
	data, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []transcript
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		events   string
		comments int
		end      End
	}{
		"C02": {"task:submitted status:working", 0, EndOrderly},
		"C04": {"status:working error:", 0, EndOrderly},
		"C05": {"task:TASK_STATE_SUBMITTED status:TASK_STATE_WORKING status:TASK_STATE_INPUT_REQUIRED", 0, EndOurs},
		"C08": {"message:+EmptyParts message: message: message:+EmptyParts", 0, EndOrderly},
		"C22": {"task:submitted status:working status:completed", 2, EndOrderly},
		"C37": {"task:submitted status:completed", 0, EndOrderly},
	}
	for _, tr := range list {
		t.Run(tr.Case, func(t *testing.T) {
			u := serveRaw(t, func(c *net.TCPConn, a asked) {
				write(c, sseHead, chunked)
				for _, f := range tr.Frames {
					write(c, chunk(pID.ReplaceAllString(f, string(a.ID))))
				}
				if tr.End == "hold" {
					untilClosed(c)
					return
				}
				write(c, lastChunk)
			})
			s, err := askOf(t, u, tr.Generation, Options{}).SendStream(within(t, 5*time.Second), ping, SendConfig{})
			if err != nil {
				t.Fatal(err)
			}
			w := want[tr.Case]
			var got []string
			for e := range s.Events() {
				text := string(e.Kind) + ":" + e.RawState
				for _, p := range e.Problems {
					text += "+" + string(p)
				}
				if got = append(got, text); tr.End == "hold" && len(got) == len(tr.Frames) {
					s.Close()
				}
			}
			if diff := cmp.Diff(w.events, strings.Join(got, " ")); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if s.End() != w.end || s.Comments() != w.comments {
				t.Errorf("end %q and %d comments, want %q and %d", s.End(), s.Comments(), w.end, w.comments)
			}
		})
	}
	if len(list) != len(want) {
		t.Errorf("%d transcripts, want %d", len(list), len(want))
	}
}
