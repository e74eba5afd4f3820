package trust

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

var update = flag.Bool("update", false, "rewrite the right-hand side of the golden timelines")

// Each timeline in testdata/timelines is a story: on the left of the bar what happens, on the right what is then held.
//
//	# any text
//	show Streaming                           what the right-hand side shows
//	1h10m  round Streaming=Diverged:StreamEmpty:Card+explicit+confirmed card=b
//	1h15m  cheap unreachable
//	4h     lapse
//	5h     target https://other.test
//
// A round's words: Capability=Outcome[:Reason[:Basis]][+explicit][+confirmed][+control-failed][+pair-s|-c|-b|-n|-u]
// [+unexcused] (pair-u is a bad stream watched alone, whose task shows that the agent worked),
// card=NAME (claims with that digest; card=- for none; card=NAME- without streaming), legacy, unreachable.
func TestCaseTimelines(t *testing.T) {
	files, err := filepath.Glob("testdata/timelines/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("looking for timelines: %d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got, rewrite with -update):\n%s", file, diff)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	var out strings.Builder
	s := &stage{t: t, card: "a", policy: DefaultPolicy()}
	for lines := bufio.NewScanner(strings.NewReader(script)); lines.Scan(); {
		event, _, _ := strings.Cut(lines.Text(), "|")
		event = strings.TrimRight(event, " ")
		words := strings.Fields(event)
		switch {
		case len(words) == 0 || strings.HasPrefix(event, "#"):
			fmt.Fprintln(&out, event)
		case words[0] == "show":
			s.show = words[1:]
			fmt.Fprintln(&out, event)
		default:
			fmt.Fprintf(&out, "%-72s | %s\n", event, s.act(words))
		}
	}
	return out.String()
}

// stage is where a timeline is played.
type stage struct {
	t      *testing.T
	peer   Peer
	policy Policy
	card   string
	show   []string
}

const stageTarget = "https://peer.test"

func (s *stage) act(words []string) string {
	offset, err := time.ParseDuration(words[0])
	if err != nil {
		s.t.Fatalf("reading the time of %q: %v", words, err)
	}
	now := epoch.Add(offset)
	var ts []Transition
	switch words[1] {
	case "round", "cheap":
		ts = s.round(words[1] == "cheap", words[2:], now)
	case "lapse":
		s.peer, ts = Lapse(s.peer, now)
	case "target":
		s.peer, ts = Retarget(s.peer, words[2], now)
	default:
		s.t.Fatalf("unknown event %q", words)
	}
	return s.account(ts, now)
}

func (s *stage) round(cheap bool, words []string, now time.Time) []Transition {
	r := Round{Number: s.peer.Rounds.Last + 1, Kind: Behavior, Finished: now, Usable: true,
		Reach: Observation{Outcome: Honored, Reason: ReasonHonored}}
	if cheap {
		r.Kind = Reachability
	}
	legacy := false
	for _, w := range words {
		switch {
		case w == "legacy":
			legacy = true
		case w == "unreachable":
			r.Reach = Observation{Outcome: Inconclusive, Reason: ReasonUnreachable}
			r.Usable = false
		case strings.HasPrefix(w, "card="):
			s.card = strings.TrimPrefix(w, "card=")
		default:
			obs := s.observation(w)
			r.Asked = append(r.Asked, obs.Capability)
			r.Observations = append(r.Observations, obs)
		}
	}
	if s.card != "-" && r.Usable {
		r.Claims = declaringAll("sha256:" + s.card)
		if strings.HasSuffix(s.card, "-") {
			r.Claims.Declared[Streaming] = NotDeclared
		}
		r.Claims.Legacy, r.Claims.NoCapabilities = legacy, legacy
	}
	before := s.peer.clone()
	target := s.peer.Target
	if target == "" {
		target = stageTarget
	}
	next, ts, folded := Advance(s.peer, target, r, s.policy, now)
	if !folded {
		s.t.Fatalf("round %d not folded", r.Number)
	}
	if diff := cmp.Diff(before, s.peer); diff != "" {
		s.t.Fatalf("Advance changed its argument:\n%s", diff)
	}
	s.peer = next
	return ts
}

func (s *stage) observation(word string) Observation {
	parts := strings.Split(word, "+")
	name, seen, ok := strings.Cut(parts[0], "=")
	if !ok {
		s.t.Fatalf("unknown word %q", word)
	}
	fields := append(strings.Split(seen, ":"), "", "")
	obs := Observation{Capability: Capability(name), Outcome: Outcome(fields[0]), Reason: Reason(fields[1]), Basis: lifecycle.Basis(fields[2])}
	if obs.Reason == "" {
		obs.Reason = ReasonHonored
	}
	for _, flag := range parts[1:] {
		switch flag {
		case "explicit":
			obs.Explicit = true
		case "confirmed":
			obs.Confirmed = true
		case "control-failed":
			obs.ControlFailed = true
		case "pair-s":
			obs.Pair = &Pair{StreamFailed: true}
		case "pair-c":
			obs.Pair, obs.ControlFailed = &Pair{ControlFailed: true}, true
		case "pair-b":
			obs.Pair, obs.ControlFailed = &Pair{StreamFailed: true, ControlFailed: true}, true
		case "pair-n":
			obs.Pair = &Pair{}
		case "pair-u":
			obs.Pair = &Pair{StreamFailed: true, Unexcused: true, Alone: true}
		case "unexcused":
			obs.Pair = &Pair{StreamFailed: true, Unexcused: true}
		default:
			s.t.Fatalf("unknown flag %q", flag)
		}
	}
	return obs
}

// account tells what is held, in one line.
func (s *stage) account(ts []Transition, now time.Time) string {
	var parts []string
	for _, x := range ts {
		arrow := fmt.Sprintf("%s %s→%s", x.Capability, x.From, x.To)
		if x.FirstReprobe {
			arrow += " at the first re-probe"
		}
		parts = append(parts, arrow)
	}
	if len(parts) > 0 {
		parts[len(parts)-1] += ";"
	}
	for _, name := range s.show {
		if rec := s.peer.record(Capability(name)); rec != nil {
			parts = append(parts, describe(rec))
		}
	}
	d := Decide(s.peer, DecideInput{Interval: s.policy.Interval}, now)
	return strings.Join(append(parts, fmt.Sprintf("→ %s (%s)", d.Path, d.Reason)), " ")
}

func describe(r *Record) string {
	text := fmt.Sprintf("%s %s %s", r.Capability, r.State, r.Reason)
	recent := ""
	for _, x := range r.Recent {
		recent += string(x.Outcome[0])
	}
	if recent != "" {
		text += " [" + recent + "]"
	}
	if !r.Expiration.IsZero() {
		text += " until " + r.Expiration.Sub(epoch).String()
	}
	if r.State == Demoted {
		text += fmt.Sprintf(" #%d clean %d", r.Demotions, r.Clean)
		if !r.DemotedUntil.IsZero() {
			text += " at least until " + r.DemotedUntil.Sub(epoch).String()
		}
	}
	if len(r.Warnings) > 0 {
		text += fmt.Sprintf(" warns %v", r.Warnings)
	}
	if r.Pairs.open() {
		text += fmt.Sprintf(" score %d", r.Pairs.Score)
		if r.Pairs.Alone {
			text += " alone"
		}
	}
	if r.NextProbe.IsZero() {
		return text + " next at once,"
	}
	return text + " next " + r.NextProbe.Sub(epoch).String() + ","
}
