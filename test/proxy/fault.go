package proxy

import "time"

// Fault is what the proxy does to the requests that begin while it is set. The zero value passes everything through.
type Fault struct {
	// Name tells it in reports.
	Name string

	// CutAfter ends a stream in good order this long after its headers, as a balancer's limit does; CutIdle after so much silence.
	// Reset makes it a reset of the connection in both cases. Only streams that are still open then are concerned.
	CutAfter, CutIdle time.Duration
	Reset             bool
	// ResetEvents resets a stream after so many events.
	ResetEvents int
	// Buffer holds a stream back until the peer has ended it, or for this long, and delivers it in one lump.
	Buffer time.Duration
	// Hold delivers every piece of a stream this much later.
	Hold time.Duration

	// Drop is the share of requests whose connection is closed without a byte of an answer.
	Drop float64
	// DialDelay holds back the first byte of every new connection.
	DialDelay time.Duration
	// Down refuses connections and breaks those there are.
	Down bool

	// Status answers this share of requests with an HTTP status and a page. RetryAfter in seconds goes with it.
	Status     int
	Share      float64
	RetryAfter int

	// Fail is the share of sends and streams whose executor throws: an internal error, in the words of the binding, and half of the
	// streams empty instead.
	Fail float64

	// Replicas sends requests to all backends: "requests" in turn, "connections" each connection to one of them by chance.
	Replicas string
	// Backend is the one that serves where Replicas is empty.
	Backend int

	// MoveAfter lets the next backend take over this long after the fault was set, as when an agent restarts without its tasks: streams
	// that are open then are reset.
	MoveAfter time.Duration

	// Lag answers GetTask (JSON-RPC) with what it was so long ago, and with TaskNotFound where the task was not known then.
	Lag time.Duration

	// Rewrite gives tasks other ids: "once" the same for ever, "each" another one in every answer. All of them lead back to the task.
	Rewrite string

	// DateOff moves the Date header.
	DateOff time.Duration

	// set is when the fault was set.
	set time.Time
}

// The values of Replicas and Rewrite.
const (
	ByRequest    = "requests"
	ByConnection = "connections"
	Once         = "once"
	Each         = "each"
)

// moves is when the next backend takes over.
func (f Fault) moves() time.Time { return f.set.Add(f.MoveAfter) }

func (f Fault) moved() bool { return f.MoveAfter > 0 && time.Now().After(f.moves()) }
