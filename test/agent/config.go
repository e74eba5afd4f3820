package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Duration is a time.Duration that reads and writes as text ("300ms") in YAML and JSON.
type Duration time.Duration

// D is the plain duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads the text form.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("reading duration %q: %w", b, err)
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// Config is everything that can be set. The zero value, after defaults, is an honest agent of generation 1.0.
type Config struct {
	// Name in the card; default "scripted agent".
	Name string `json:"name,omitempty"`
	// Generation spoken on the wire; default 1.0. Also lists further generations answered at the same endpoint.
	Generation Generation   `json:"generation,omitempty"`
	Also       []Generation `json:"also,omitempty"`
	// Bindings are the interfaces that the card lists, in this order: "JSONRPC" (the default, and served in any case), "HTTP+JSON" and
	// "GRPC", which 0.1 has not. All of them lead to the same tasks, and every quirk that is not about one binding's form holds for all.
	Bindings []string `json:"bindings,omitempty"`
	// Prefix is the path that the agent lives under ("/agents/one"); default none (C48).
	Prefix string `json:"prefix,omitempty"`
	// Latency before each HTTP answer's first byte; default 0.
	Latency Duration `json:"latency,omitempty"`
	// Drip sends every answer one byte at a time with this pause.
	Drip Duration `json:"drip,omitempty"`

	Card CardConfig `json:"card,omitempty"`
	// HTTP faults; the first that concerns a request spoils it.
	HTTP     []Fault        `json:"http,omitempty"`
	RPC      RPCConfig      `json:"rpc,omitempty"`
	REST     RESTConfig     `json:"rest,omitempty"`
	Script   ScriptConfig   `json:"script,omitempty"`
	Send     SendConfig     `json:"send,omitempty"`
	Stream   StreamConfig   `json:"stream,omitempty"`
	Get      GetConfig      `json:"get,omitempty"`
	Cancel   CancelConfig   `json:"cancel,omitempty"`
	FollowUp FollowUpConfig `json:"followUp,omitempty"`
	Push     PushConfig     `json:"push,omitempty"`
	// Resubscribe, Extended and Modes are in bend.go.
	Resubscribe ResubscribeConfig `json:"resubscribe,omitempty"`
	Extended    ExtendedConfig    `json:"extended,omitempty"`
	Modes       ModesConfig       `json:"modes,omitempty"`
	Gateway     GatewayConfig     `json:"gateway,omitempty"`
}

// CardConfig shapes the card.
type CardConfig struct {
	// Generation the card declares; default the one spoken (C37, C38 differ).
	Generation Generation `json:"generation,omitempty"`
	// Union adds the members of 0.3 to a 1.0 card, or the other way round.
	Union bool `json:"union,omitempty"`
	// Path is "new", "legacy", "both", or an explicit path; default the generation's own.
	Path string `json:"path,omitempty"`
	// URL in place of the agent's own; may be relative.
	URL string `json:"url,omitempty"`
	// Streaming, PushNotifications, ExtendedAgentCard and StateTransitionHistory are raw JSON. Default: streaming true, the rest absent.
	Streaming              json.RawMessage `json:"streaming,omitempty"`
	PushNotifications      json.RawMessage `json:"pushNotifications,omitempty"`
	ExtendedAgentCard      json.RawMessage `json:"extendedAgentCard,omitempty"`
	StateTransitionHistory json.RawMessage `json:"stateTransitionHistory,omitempty"`
	// NoCapabilities leaves the member out (C57).
	NoCapabilities bool `json:"noCapabilities,omitempty"`
	// Tenant is declared by the interface and demanded of every request.
	Tenant string `json:"tenant,omitempty"`
	// InputModes; default text/plain.
	InputModes []string `json:"inputModes,omitempty"`
	// EstimatedDuration of the one skill, raw JSON.
	EstimatedDuration json.RawMessage `json:"estimatedDuration,omitempty"`
	// Extra members, which win over ours.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
	// Interfaces in place of the one (1.0: supportedInterfaces, 0.x: additionalInterfaces), raw JSON.
	Interfaces json.RawMessage `json:"interfaces,omitempty"`
	// Rolling alternates, fetch by fetch, with a card that does not declare streaming (a rolling deploy).
	Rolling bool `json:"rolling,omitempty"`
	// Revision changes the claims: it becomes the id of the skill.
	Revision string `json:"revision,omitempty"`
	// Giant pads the card with so many bytes.
	Giant int `json:"giant,omitempty"`
	// Malformed serves half a card; HTML a web page; BOM puts a byte order mark before it; Gzip compresses without saying so.
	Malformed bool `json:"malformed,omitempty"`
	HTML      bool `json:"html,omitempty"`
	BOM       bool `json:"bom,omitempty"`
	Gzip      bool `json:"gzip,omitempty"`
	// NoETag leaves out ETag.
	NoETag bool `json:"noETag,omitempty"`
	// Raw is served as it is ("{{URL}}" becomes the endpoint).
	Raw string `json:"raw,omitempty"`
}

// Fault breaks things below the protocol. On names the requests concerned: "all" (default), "post" or "card".
type Fault struct {
	On string `json:"on,omitempty"`
	// Every makes only every Nth request suffer; 0 and 1: each.
	Every int `json:"every,omitempty"`
	// Status answers with this status and no protocol body. RetryAfter in seconds goes with it.
	Status     int `json:"status,omitempty"`
	RetryAfter int `json:"retryAfter,omitempty"`
	// HTML answers 200 with a web page.
	HTML bool `json:"html,omitempty"`
	// Redirect is the status, To the target (default: the same path below /moved, which is served).
	Redirect int    `json:"redirect,omitempty"`
	To       string `json:"to,omitempty"`
	// Hang accepts and never answers, Drop closes without a byte.
	Hang bool `json:"hang,omitempty"`
	Drop bool `json:"drop,omitempty"`
	// EndlessBody sends JSON that never ends; Giant a body of so many bytes.
	EndlessBody bool `json:"endlessBody,omitempty"`
	Giant       int  `json:"giant,omitempty"`
	// Bearer token that requests need, else 401.
	Bearer string `json:"bearer,omitempty"`
}

// RPCConfig bends the JSON-RPC envelope.
type RPCConfig struct {
	// Unknown answers -32601 to every method (C35).
	Unknown bool `json:"unknown,omitempty"`
	// ParamsFirst answers -32602 to params without a member before it looks at the method's name.
	ParamsFirst bool `json:"paramsFirst,omitempty"`
	// ID of answers: "" echoes, "string" and "number" change the type, "wrong", "null" and "missing" are what they say.
	ID string `json:"id,omitempty"`
	// CheckVersion refuses an A2A-Version other than the generation's with -32009.
	CheckVersion bool `json:"checkVersion,omitempty"`
	// ErrorStatus is the HTTP status of JSON-RPC errors; default 200.
	ErrorStatus int `json:"errorStatus,omitempty"`
	// PlainText calls unary answers text/plain, as real 0.3 servers do.
	PlainText bool `json:"plainText,omitempty"`
	// Masked turns every error code into -32603, as one real server does.
	Masked bool `json:"masked,omitempty"`
	// NumericStates writes enum numbers; LowerStates writes the words of 0.x in 1.0; DoubleL spells TASK_STATE_CANCELLED.
	NumericStates bool `json:"numericStates,omitempty"`
	LowerStates   bool `json:"lowerStates,omitempty"`
	DoubleL       bool `json:"doubleL,omitempty"`
	// Vendor adds unknown members, and in 1.0 a final member (C76).
	Vendor bool `json:"vendor,omitempty"`
	// NoResubscribe answers re-attaching with -32601.
	NoResubscribe bool `json:"noResubscribe,omitempty"`
	// NoTimestamps leaves status.timestamp out.
	NoTimestamps bool `json:"noTimestamps,omitempty"`
	// ClockOff is how far the clock that writes status.timestamp is ahead of the one that writes Date; ClockStands that it has stood still
	// for years.
	ClockOff    Duration `json:"clockOff,omitempty"`
	ClockStands bool     `json:"clockStands,omitempty"`
	// Kinds gives results of 1.0 the kind member of 0.3 as well.
	Kinds bool `json:"kinds,omitempty"`
}

// ScriptConfig is what the agent does with messages.
type ScriptConfig struct {
	// Rules by the beginning of the text; the first that fits, then the built-in ones.
	Rules []Rule `json:"rules,omitempty"`
	// Work is how long a short task takes from submitted to completed; default 6 ms.
	Work Duration `json:"work,omitempty"`
	// Tick between the chunks of a long task (default 50 ms), and how many chunks (default 1000).
	Tick   Duration `json:"tick,omitempty"`
	Chunks int      `json:"chunks,omitempty"`
	// Think is a silence after working; Stuck makes it last for ever.
	Think Duration `json:"think,omitempty"`
	Stuck bool     `json:"stuck,omitempty"`
	// Relapses is how long after its end a short task works again, in the store and with a time of its own; 0: never.
	Relapses Duration `json:"relapses,omitempty"`
	// SkipSubmitted and SkipWorking leave these states out.
	SkipSubmitted bool `json:"skipSubmitted,omitempty"`
	SkipWorking   bool `json:"skipWorking,omitempty"`
	// NeverAsks: what should ask for input stays working for ever, until canceled.
	NeverAsks bool `json:"neverAsks,omitempty"`
	// GivesUp: a task that asks waits so long for the reply and completes without it; 0: for ever.
	GivesUp Duration `json:"givesUp,omitempty"`
	// AlwaysAsks: every turn ends input-required (C73).
	AlwaysAsks bool `json:"alwaysAsks,omitempty"`
	// Ends is the state in which short tasks end; default completed. "rejected", "failed" and "auth-required" are legal oddities.
	Ends State `json:"ends,omitempty"`
	// Message answers with a Message and makes no task.
	Message bool `json:"message,omitempty"`
	// NeedsData refuses messages without a data part with -32602 (C92).
	NeedsData bool `json:"needsData,omitempty"`
	// FailEvery makes the executor throw for every Nth message; FailShare for this share of them. FailAs: "error" (-32603 to a
	// send, an empty stream to a stream; default) or "failed" (the task ends failed).
	FailEvery int     `json:"failEvery,omitempty"`
	FailShare float64 `json:"failShare,omitempty"`
	FailAs    string  `json:"failAs,omitempty"`
	// Seed of FailShare; default 1.
	Seed uint64 `json:"seed,omitempty"`
}

// Rule maps the beginning of a message's text (any case) to a deed: "answer", "count", "ask", "message", "stuck", "reject", "auth" or
// "fail".
type Rule struct {
	Prefix string `json:"prefix"`
	Do     string `json:"do"`
}

// SendConfig bends the unary send.
type SendConfig struct {
	// Refuse answers with this JSON-RPC code; Every limits it to every Nth send.
	Refuse int `json:"refuse,omitempty"`
	Every  int `json:"every,omitempty"`
	// AtOnce returns at once although asked to wait (C45); Waits waits although asked not to.
	AtOnce bool `json:"atOnce,omitempty"`
	Waits  bool `json:"waits,omitempty"`
	// Bare leaves out 1.0's task wrapper (C40).
	Bare bool `json:"bare,omitempty"`
	// Hang never answers.
	Hang bool `json:"hang,omitempty"`
}

// StreamConfig bends streams.
type StreamConfig struct {
	// Every, After and Until say which streams are concerned, counted from 1: each Nth, those after, those up to. 0: no limit.
	Every int `json:"every,omitempty"`
	After int `json:"after,omitempty"`
	Until int `json:"until,omitempty"`
	// Work is how long a short task begun by a stream takes; default Script.Work. It holds for all streams.
	Work Duration `json:"work,omitempty"`
	// Undeclared serves streams although the card does not declare them (C30).
	Undeclared bool `json:"undeclared,omitempty"`

	// Empty sends headers and ends in good order without an event; no task is made (C03).
	Empty bool `json:"empty,omitempty"`
	// Refuse answers with this JSON-RPC code, as plain JSON or, with RefuseAs "sse", as the one frame (C25, C26).
	Refuse   int    `json:"refuse,omitempty"`
	RefuseAs string `json:"refuseAs,omitempty"`
	// Unary answers with the finished task as plain JSON.
	Unary bool `json:"unary,omitempty"`
	// Withhold lists states, and "artifact", that are not shown. At the end of the task the stream closes, or with WithheldOpen
	// stays open and silent (C01, C04).
	Withhold     []string `json:"withhold,omitempty"`
	WithheldOpen bool     `json:"withheldOpen,omitempty"`
	// HeldBack delivers every event this long after it came about, like a path that is uniformly late.
	HeldBack Duration `json:"heldBack,omitempty"`
	// Drip is how long each event takes on its way, one after the other, so that the stream of a busy task backs up.
	Drip Duration `json:"drip,omitempty"`
	// CutAfter ends the stream after so many events, CutIdle after this silence, however the task goes on; Cut is how:
	// "end" (default), "reset", or "close" (close-delimited body).
	CutAfter int      `json:"cutAfter,omitempty"`
	CutIdle  Duration `json:"cutIdle,omitempty"`
	Cut      string   `json:"cut,omitempty"`
	// ErrorAfter sends an error frame with ErrorCode after so many events and ends.
	ErrorAfter int `json:"errorAfter,omitempty"`
	ErrorCode  int `json:"errorCode,omitempty"`
	// HoldTerminal keeps the stream open for so long after a terminal event, HoldInterrupted after an interrupted one until the task goes on.
	HoldTerminal    Duration `json:"holdTerminal,omitempty"`
	HoldInterrupted bool     `json:"holdInterrupted,omitempty"`
	// Messages answers with so many Messages of one id, the first and the last without parts (C08).
	Messages int `json:"messages,omitempty"`
	// StatusFirst begins with a status and ends with a Task (C10). OneTask sends nothing but the finished Task (C15).
	StatusFirst bool `json:"statusFirst,omitempty"`
	OneTask     bool `json:"oneTask,omitempty"`
	// NoContent leaves artifacts out of streams (C13). Snapshot sends the Task once more before closing.
	NoContent bool `json:"noContent,omitempty"`
	Snapshot  bool `json:"snapshot,omitempty"`
	// AfterTerminal lists what follows the terminal event: states, "artifact", "repeat". CompletedTwice puts a completed with
	// final:false before the artifact (C12).
	AfterTerminal  []string `json:"afterTerminal,omitempty"`
	CompletedTwice bool     `json:"completedTwice,omitempty"`
	// NeverFinal says final:false in every status-update of 0.x.
	NeverFinal bool `json:"neverFinal,omitempty"`
	// ForeignTask gives every event after the first another task id.
	ForeignTask bool `json:"foreignTask,omitempty"`
	// Endless sends artifact chunks as fast as they are read, for ever.
	Endless bool `json:"endless,omitempty"`
	// GiantEvent pads the first artifact event with so many bytes.
	GiantEvent int `json:"giantEvent,omitempty"`
	// FirstEvent delays the first event; HeadersLate holds the headers back until then.
	FirstEvent  Duration `json:"firstEvent,omitempty"`
	HeadersLate bool     `json:"headersLate,omitempty"`
	// Buffered delivers all bytes in one lump at the end (C27).
	Buffered bool `json:"buffered,omitempty"`
	// HangUp is the state that a client's hang-up forces on the task (C91): "failed", "canceled", or "stuck" (working for ever).
	HangUp string `json:"hangUp,omitempty"`

	// NDJSON sends one JSON per line as application/x-ndjson (C19). MediaType replaces text/event-stream; "none" leaves it out.
	NDJSON    bool   `json:"ndjson,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	// KeepAlive sends comments this often (C20). Fields adds event, id and retry lines. Pretty spreads an event over data lines (C22).
	KeepAlive Duration `json:"keepAlive,omitempty"`
	Fields    bool     `json:"fields,omitempty"`
	Pretty    bool     `json:"pretty,omitempty"`
	// LineEnd is "\n" (default), "\r\n" or "\r". BOM comes first. Unterminated leaves out the last blank line (C24).
	LineEnd      string `json:"lineEnd,omitempty"`
	BOM          bool   `json:"bom,omitempty"`
	Unterminated bool   `json:"unterminated,omitempty"`
	// Malformed sends one event that is not JSON after the first.
	Malformed bool `json:"malformed,omitempty"`
}

// GetConfig bends GetTask.
type GetConfig struct {
	// Refuse answers with this code; Every limits it to every Nth call (2: replicas that do not share, C65).
	Refuse int `json:"refuse,omitempty"`
	Every  int `json:"every,omitempty"`
	// Stale answers with this state for good, once a task has been made (C67).
	Stale State `json:"stale,omitempty"`
	// Lag answers with the state as it was so long ago.
	Lag Duration `json:"lag,omitempty"`
	// Live stamps every answer with the time of the answer. Slow delays it.
	Live bool     `json:"live,omitempty"`
	Slow Duration `json:"slow,omitempty"`
	// OtherID answers with another id; Wrapped puts the Task under a task member.
	OtherID bool `json:"otherID,omitempty"`
	Wrapped bool `json:"wrapped,omitempty"`
	// AllHistory gives the whole history, MostHistory so many messages at most, whatever was asked for.
	AllHistory  bool `json:"allHistory,omitempty"`
	MostHistory *int `json:"mostHistory,omitempty"`
	// Purged answers TaskNotFound for terminal tasks.
	Purged bool `json:"purged,omitempty"`
}

// CancelConfig bends CancelTask.
type CancelConfig struct {
	// Refuse answers with this code.
	Refuse int `json:"refuse,omitempty"`
	// Zombie answers canceled and goes on emitting; GetTask says what ZombieSays holds, "canceled" (default) or "working".
	Zombie     bool  `json:"zombie,omitempty"`
	ZombieSays State `json:"zombieSays,omitempty"`
	// Later answers with the active task and cancels after this time; Never answers so and does nothing (C70).
	Later Duration `json:"later,omitempty"`
	Never bool     `json:"never,omitempty"`
	// FrameLate holds the canceled frame back this long after the answer.
	FrameLate Duration `json:"frameLate,omitempty"`
	// NoFrame closes the stream without a canceled frame.
	NoFrame bool `json:"noFrame,omitempty"`
	// Revives completes the task this long after it was canceled, in the store and on the stream (C71).
	Revives Duration `json:"revives,omitempty"`
	// Forgets is how long after canceled GetTask says working again, with the time of canceled.
	Forgets Duration `json:"forgets,omitempty"`
	// Slow delays the answer.
	Slow Duration `json:"slow,omitempty"`
}

// FollowUpConfig bends what happens to a message that names a task.
type FollowUpConfig struct {
	// NewID answers with a new id; the old task stays as it was. With Rewritten the old task moves on all the same, and both ids
	// name it (a gateway). UnlessMetadata exempts messages that carry this key of metadata.
	NewID          bool   `json:"newID,omitempty"`
	Rewritten      bool   `json:"rewritten,omitempty"`
	UnlessMetadata string `json:"unlessMetadata,omitempty"`
	// Refuse answers with this code; with OnlyWorking just for tasks that are not interrupted (legal), with Busy just until so long after
	// the task came to its state (an executor that is letting go of it).
	Refuse      int      `json:"refuse,omitempty"`
	OnlyWorking bool     `json:"onlyWorking,omitempty"`
	Busy        Duration `json:"busy,omitempty"`
	// Message answers with a Message and continues the task; NewContext changes contextId.
	Message    bool `json:"message,omitempty"`
	NewContext bool `json:"newContext,omitempty"`
	// ToTerminal takes messages to terminal tasks and makes them work again.
	ToTerminal bool `json:"toTerminal,omitempty"`
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "scripted agent"
	}
	if c.Generation == "" {
		c.Generation = V10
	}
	if len(c.Bindings) == 0 {
		c.Bindings = []string{bindingJSONRPC}
	}
	c.Prefix = strings.TrimSuffix(c.Prefix, "/")
	if c.Card.Generation == "" {
		c.Card.Generation = c.Generation
	}
	if c.Script.Work == 0 {
		c.Script.Work = Duration(6 * time.Millisecond)
	}
	if c.Stream.Work == 0 {
		c.Stream.Work = c.Script.Work
	}
	if c.Script.Tick == 0 {
		c.Script.Tick = Duration(50 * time.Millisecond)
	}
	if c.Script.Chunks == 0 {
		c.Script.Chunks = 1000
	}
	return c
}
