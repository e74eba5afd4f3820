package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/serve"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// asRound, in the environment, makes this binary probe one peer instead of testing.
const asRound = "AGENTPEER_HOSTILE_ROUND"

func TestMain(m *testing.M) {
	if os.Getenv(asRound) != "" {
		if err := roundProcess(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "8") // most of a round is waiting
	}
	goleak.VerifyTestMain(m)
}

// errand is what the process of a round is told: whom to probe, and an honest agent to warm up with.
type errand struct {
	Honest, URL string
	Origins     []string
	CA          []byte
}

// outcome is what it tells.
type outcome struct {
	Took, Bound  time.Duration
	Warm         trust.Outcome
	Reach        string
	Observations map[trust.Capability]string
	Diverged     []trust.Capability
	Tasks        int
	Orphans      int
	RetryAfter   time.Duration
	// PeakKB is the most that the process held above what it held before; KeptKB what the heap holds more after.
	PeakKB, KeptKB int
	Refused        int64
	Left           string // goroutines that stayed
	Dump           string // what the round says, for canaries
}

// quick is a timing for rounds on loopback, in the proportions of the defaults.
func quick() probe.Timing {
	return probe.Timing{
		FirstEvent: 2 * time.Second, Idle: 400 * time.Millisecond, Grace: 150 * time.Millisecond, Task: 1500 * time.Millisecond,
		Repeat: 50 * time.Millisecond, Wait: 400 * time.Millisecond, Hard: 3 * time.Second, Settle: 150 * time.Millisecond,
		Late: 250 * time.Millisecond,
	}
}

// jobFor is a behaviour round that asks everything.
func jobFor(base string) (probe.Job, error) {
	u, err := url.Parse(base)
	if err != nil {
		return probe.Job{}, err
	}
	parts := func(text string) []wire.Part { return []wire.Part{{Text: text}} }
	return probe.Job{
		Kind: trust.Behavior, CardAndTask: true, Interfaces: true, Ask: probe.Questions(), Round: 7,
		Target: probe.Target{
			Key: "test/" + u.Host, ID: base, URL: u, Timing: quick(), PushReachable: true,
			Fixtures: probe.Fixtures{
				LongRunning:   &probe.Fixture{Parts: parts("count slowly")},
				InputRequired: &probe.Fixture{Parts: parts("book a trip"), Reply: &probe.Fixture{Parts: parts("to Oslo")}},
			},
		},
	}, nil
}

func roundProcess(in io.Reader, out io.Writer) error {
	var e errand
	if err := json.NewDecoder(in).Decode(&e); err != nil {
		return err
	}
	var refused atomic.Int64
	r, err := serve.NewReceiver(serve.ReceiverOptions{Address: "127.0.0.1:0", Count: func(what string) {
		if what == "refused" {
			refused.Add(1)
		}
	}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	env := probe.Env{Egress: agent.Loopback(), UserAgent: "hostile-test", Receiver: r}

	warm, err := jobFor(e.Honest)
	if err != nil {
		return err
	}
	warm.Ask = []trust.Capability{trust.Streaming, trust.PushNotifications}
	var o outcome
	o.Warm = probe.Run(ctx, env, warm).Round.Reach.Outcome
	job, err := jobFor(e.URL)
	if err != nil {
		return err
	}
	job.Target.AllowedOrigins, job.Target.RootCAs = e.Origins, e.CA
	before, peak, err := holds()
	if err != nil {
		return err
	}
	began := time.Now()
	rep := probe.Run(ctx, env, job)
	o.Took, o.Bound = time.Since(began), probe.Bound(job)
	if o.PeakKB, err = peak(); err != nil {
		return err
	}
	after, _, err := holds()
	if err != nil {
		return err
	}
	o.KeptKB = (int(after) - int(before)) >> 10
	o.tell(rep)
	cancel()
	if err := <-ended; err != nil {
		return err
	}
	o.Refused = refused.Load()
	// Connections that a peer does not let end in good order are cut a second after the round.
	for began := time.Now(); ; {
		err := goleak.Find()
		if err == nil {
			break
		}
		if time.Since(began) > 4*time.Second {
			o.Left = err.Error()
			break
		}
	}
	runtime.KeepAlive(rep)
	return json.NewEncoder(out).Encode(o)
}

func (o *outcome) tell(rep probe.Report) {
	reach := rep.Round.Reach
	o.Reach = fmt.Sprintf("%s %s: %s", reach.Outcome, reach.Reason, reach.Message)
	o.Observations = map[trust.Capability]string{}
	for _, x := range rep.Round.Observations {
		o.Observations[x.Capability] = fmt.Sprintf("%s %s: %s", x.Outcome, x.Reason, x.Message)
		if x.Outcome == trust.Diverged {
			o.Diverged = append(o.Diverged, x.Capability)
		}
	}
	if reach.Outcome == trust.Diverged {
		o.Diverged = append(o.Diverged, "Reach")
	}
	o.Tasks, o.Orphans, o.RetryAfter = rep.Round.Tasks, len(rep.Orphans), rep.RetryAfter
	o.Dump = fmt.Sprintf("%+v %+v", rep.Round, rep.Orphans) // the card and its interfaces are the peer's words, and marked as such
}

// holds says what the heap holds, and begins to watch the peak of the whole process, in KiB above what it holds now.
func holds() (heap uint64, peak func() (int, error), err error) {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if runtime.GOOS != "linux" {
		return m.HeapAlloc, func() (int, error) { return 0, nil }, nil
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, nil, fmt.Errorf("setting the peak back: %w", err)
	}
	base, err := highWater()
	return m.HeapAlloc, func() (int, error) {
		high, err := highWater()
		return high - base, err
	}, err
}

// highWater is the most memory that this process has had resident since the peak was set back, in KiB.
func highWater() (int, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "VmHWM:" {
			return strconv.Atoi(words[1])
		}
	}
	return 0, errors.New("reading the peak: no VmHWM")
}

// probed lets a process of its own probe a peer.
func probed(t *testing.T, e errand) outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, self)
	c.Env = append(os.Environ(), asRound+"=1")
	c.Stdin = bytes.NewReader(in)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		t.Fatalf("the round ended with %v: %.2000s", err, said.String())
	}
	var o outcome
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		t.Fatalf("%v: %.500s", err, out.String())
	}
	return o
}

// honest starts an agent that keeps its promises.
func honest(t *testing.T) string {
	t.Helper()
	a := agent.New(agent.Speaks(agent.V10), agent.Is("push"))
	return a.Start(t)
}
