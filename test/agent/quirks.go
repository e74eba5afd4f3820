package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// quirk is a lie, a legal oddity or a trouble, by name.
type quirk struct {
	// says in a few words what it does, with its case where it has one.
	says string
	set  func(*Config)
}

// Is turns quirks on. It panics at a name it does not know: a test with a typo must not pass.
func Is(names ...string) Option {
	return func(c *Config) {
		for _, n := range names {
			q, ok := quirks[n]
			if !ok {
				panic(fmt.Sprintf("agent: no quirk %q", n))
			}
			q.set(c)
		}
	}
}

// Quirks lists every quirk with what it does.
func Quirks() map[string]string {
	list := map[string]string{}
	for n, q := range quirks {
		list[n] = q.says
	}
	return list
}

// QuirkNames lists the quirks in order.
func QuirkNames() []string { return slices.Sorted(maps.Keys(quirks)) }

// fault adds a fault, leaving other copies of the Config alone.
func (c *Config) fault(f Fault) { c.HTTP = append(c.HTTP[:len(c.HTTP):len(c.HTTP)], f) }

// pushes declares push notifications, and sends them in some way.
func (c *Config) pushes(p PushConfig) {
	c.Card.PushNotifications = raw("true")
	p.Sends = true
	c.Push = p
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

const (
	ms  = Duration(time.Millisecond)
	sec = Duration(time.Second)
)

var allEnds = []string{"completed", "canceled", "failed", "rejected"}

var quirks = map[string]quirk{
	// Streams that lie.
	"empty-stream":      {"streams are empty, single-shot works (C03 B)", func(c *Config) { c.Stream.Empty = true }},
	"empty-and-failing": {"streams are empty, sends answer -32603 (C03 A)", func(c *Config) { c.Stream.Empty = true; c.Send.Refuse = -32603 }},
	"withheld-end":      {"streams close in good order without the terminal state that GetTask shows (C01)", func(c *Config) { c.Stream.Withhold = allEnds }},
	"withheld-end-open": {"streams stay open and silent while GetTask shows a terminal state", func(c *Config) { c.Stream.Withhold = allEnds; c.Stream.WithheldOpen = true }},
	"withheld-question": {"streams show working and then nothing while GetTask says input-required (C04)", func(c *Config) {
		c.Stream.Withhold = []string{"input-required", "artifact"}
		c.Script.AlwaysAsks = true
	}},
	"many-messages":      {"streams are four Messages of one id, two of them empty (C08)", func(c *Config) { c.Stream.Messages = 4 }},
	"refuses-stream":     {"streams answered -32004 as JSON (C25)", func(c *Config) { c.Stream.Refuse = -32004 }},
	"refuses-stream-sse": {"streams answered -32004 as an SSE frame (C26)", func(c *Config) { c.Stream.Refuse = -32004; c.Stream.RefuseAs = "sse" }},
	"stream-unknown":     {"streams answered -32601 as JSON (C25)", func(c *Config) { c.Stream.Refuse = -32601 }},
	"stream-bad-params":  {"streams answered -32602 as JSON (C25)", func(c *Config) { c.Stream.Refuse = -32602 }},
	"stream-fails":       {"streams answered -32603 as JSON (C25)", func(c *Config) { c.Stream.Refuse = -32603 }},
	"stream-fails-sse":   {"streams answered -32603 as an SSE frame (C26)", func(c *Config) { c.Stream.Refuse = -32603; c.Stream.RefuseAs = "sse" }},
	"unary-stream":       {"streams answered with a Task as plain JSON", func(c *Config) { c.Stream.Unary = true }},
	"ndjson":             {"streams are one JSON per line (C19)", func(c *Config) { c.Stream.NDJSON = true }},
	"wrong-media-type":   {"streams are SSE called text/plain", func(c *Config) { c.Stream.MediaType = "text/plain" }},
	"no-media-type":      {"streams have no Content-Type", func(c *Config) { c.Stream.MediaType = "none" }},
	"foreign-task":       {"events after the first carry another task id", func(c *Config) { c.Stream.ForeignTask = true }},
	"every-third-stream": {"every third stream is empty", func(c *Config) { c.Stream.Empty = true; c.Stream.Every = 3 }},
	"leaves-terminal":    {"working follows the terminal event", func(c *Config) { c.Stream.AfterTerminal = []string{"working"} }},
	"artifact-after-end": {"an artifact follows the terminal event", func(c *Config) { c.Stream.AfterTerminal = []string{"artifact"} }},
	"second-end":         {"failed follows completed", func(c *Config) { c.Stream.AfterTerminal = []string{"failed"} }},
	"stuck":              {"tasks never leave working", func(c *Config) { c.Script.Stuck = true }},
	"hang-up-fails":      {"a client that hangs up makes the task fail (C91)", func(c *Config) { c.Stream.HangUp = "failed" }},
	"hang-up-sticks":     {"a client that hangs up leaves the task working for ever (C91)", func(c *Config) { c.Stream.HangUp = "stuck" }},
	"endless-stream":     {"streams send chunks for ever, as fast as they are read", func(c *Config) { c.Stream.Endless = true }},
	"giant-event":        {"one event has 2 MiB", func(c *Config) { c.Stream.GiantEvent = 2 << 20 }},
	"malformed-event":    {"the second event is not JSON", func(c *Config) { c.Stream.Malformed = true }},
	"error-after-two":    {"an error frame -32603 ends streams after two events", func(c *Config) { c.Stream.ErrorAfter = 2; c.Stream.ErrorCode = -32603 }},

	// Streams that are cut by others.
	"cut-idle":          {"streams are closed in good order after 200 ms of silence, tasks go on (C02)", func(c *Config) { c.Stream.CutIdle = 200 * ms; c.Script.Think = 2 * sec }},
	"reset":             {"streams are reset after two events, tasks go on", func(c *Config) { c.Stream.CutAfter = 2; c.Stream.Cut = "reset" }},
	"cut-before-end":    {"streams are closed in good order 300 ms before tasks end", func(c *Config) { c.Stream.CutAfter = 3; c.Stream.Work = 900 * ms }},
	"backs-up":          {"every event of a stream takes 150 ms on its way, one after the other", func(c *Config) { c.Stream.Drip = 150 * ms }},
	"backs-up-for-long": {"every event of a stream takes 400 ms on its way, one after the other", func(c *Config) { c.Stream.Drip = 400 * ms }},
	"held-back":         {"every event of a stream arrives 400 ms after it came about", func(c *Config) { c.Stream.HeldBack = 400 * ms }},
	"cut-delimited":     {"streams end by closing the connection after two events", func(c *Config) { c.Stream.CutAfter = 2; c.Stream.Cut = "close" }},

	// Streams that are odd and legal.
	"close-delimited":    {"stream bodies are ended by closing the connection", func(c *Config) { c.Stream.Cut = "close" }},
	"hold-terminal":      {"streams stay open for a minute after the terminal event (C06)", func(c *Config) { c.Stream.HoldTerminal = 60 * sec }},
	"hold-interrupted":   {"streams stay open at input-required (C05)", func(c *Config) { c.Stream.HoldInterrupted = true }},
	"keep-alive":         {"streams carry comments every 20 ms (C20)", func(c *Config) { c.Stream.KeepAlive = 20 * ms }},
	"ugly-sse":           {"streams have event, id and retry fields, several data lines an event and comments (C22)", func(c *Config) { c.Stream.Fields = true; c.Stream.Pretty = true; c.Stream.KeepAlive = 20 * ms }},
	"crlf":               {"stream lines end in CRLF", func(c *Config) { c.Stream.LineEnd = "\r\n" }},
	"cr":                 {"stream lines end in CR", func(c *Config) { c.Stream.LineEnd = "\r" }},
	"stream-bom":         {"streams begin with a byte order mark", func(c *Config) { c.Stream.BOM = true }},
	"unterminated":       {"the last event lacks its blank line (C24)", func(c *Config) { c.Stream.Unterminated = true }},
	"buffered":           {"streams arrive in one lump at the end (C27)", func(c *Config) { c.Stream.Buffered = true }},
	"slow-first-event":   {"the first event comes after 2 s", func(c *Config) { c.Stream.FirstEvent = 2 * sec }},
	"late-headers":       {"headers come with the first event, after 2 s (C90)", func(c *Config) { c.Stream.FirstEvent = 2 * sec; c.Stream.HeadersLate = true }},
	"slow-thinker":       {"10 s of silence after working, then completed", func(c *Config) { c.Script.Think = 10 * sec }},
	"status-first":       {"streams begin with a status and end with a Task (C10)", func(c *Config) { c.Stream.StatusFirst = true }},
	"one-task":           {"streams are one finished Task (C15)", func(c *Config) { c.Stream.OneTask = true }},
	"burst":              {"the whole task happens at once (C15)", func(c *Config) { c.Stream.Work = 1; c.Script.Work = 1 }},
	"no-content":         {"streams carry no content, sends do (C13)", func(c *Config) { c.Stream.NoContent = true }},
	"completed-twice":    {"completed final:false, artifact, completed final:true (C12)", func(c *Config) { c.Stream.CompletedTwice = true }},
	"repeats-end":        {"the terminal status is said twice", func(c *Config) { c.Stream.AfterTerminal = []string{"repeat"} }},
	"last-snapshot":      {"streams end with one more Task", func(c *Config) { c.Stream.Snapshot = true }},
	"undeclared-streams": {"streams work though the card says false (C30)", func(c *Config) { c.Card.Streaming = raw("false"); c.Stream.Undeclared = true }},
	"never-final":        {"every status-update of 0.x says final:false", func(c *Config) { c.Stream.NeverFinal = true }},

	// Scripts that are legal.
	"messages":       {"every answer is a Message, no task is made", func(c *Config) { c.Script.Message = true }},
	"skips":          {"no submitted, no working: tasks begin completed", func(c *Config) { c.Script.SkipSubmitted = true; c.Script.SkipWorking = true }},
	"no-submitted":   {"tasks begin working", func(c *Config) { c.Script.SkipSubmitted = true }},
	"no-working":     {"tasks go from submitted to their end", func(c *Config) { c.Script.SkipWorking = true }},
	"always-asks":    {"every turn ends input-required (C73)", func(c *Config) { c.Script.AlwaysAsks = true }},
	"rejects":        {"every short task is rejected", func(c *Config) { c.Script.Ends = Rejected }},
	"fails":          {"every short task fails", func(c *Config) { c.Script.Ends = Failed }},
	"wants-auth":     {"every short task ends auth-required", func(c *Config) { c.Script.Ends = AuthRequired }},
	"never-asks":     {"what should ask stays working until canceled", func(c *Config) { c.Script.NeverAsks = true }},
	"needs-data":     {"text is refused with -32602, a data part works (C92)", func(c *Config) { c.Script.NeedsData = true; c.Card.InputModes = []string{"application/json"} }},
	"fails-often":    {"every third executor throws: -32603 or an empty stream", func(c *Config) { c.Script.FailEvery = 3 }},
	"fails-always":   {"every executor throws: -32603 or an empty stream (C03 A)", func(c *Config) { c.Script.FailEvery = 1 }},
	"flaky":          {"three executors in ten throw: -32603 or an empty stream", func(c *Config) { c.Script.FailShare = 0.3 }},
	"fails-in-state": {"every third task ends failed", func(c *Config) { c.Script.FailEvery = 3; c.Script.FailAs = "failed" }},

	// Sends.
	"send-at-once": {"a send that should wait returns at once (C45)", func(c *Config) { c.Send.AtOnce = true }},
	"bare-result":  {"1.0 sends answer with a bare Task (C40)", func(c *Config) { c.Send.Bare = true }},
	"send-fails":   {"sends answer -32603, streams work", func(c *Config) { c.Send.Refuse = -32603 }},
	"send-hangs":   {"sends are never answered", func(c *Config) { c.Send.Hang = true }},

	// GetTask.
	"get-not-found": {"GetTask is always -32001", func(c *Config) { c.Get.Refuse = -32001 }},
	"replicas":      {"every other GetTask is -32001 (C65)", func(c *Config) { c.Get.Refuse = -32001; c.Get.Every = 2 }},
	"stale-store":   {"GetTask says working for good (C67)", func(c *Config) { c.Get.Stale = Working }},
	"lagging-store": {"GetTask is 500 ms behind", func(c *Config) { c.Get.Lag = 500 * ms }},
	"slow-get":      {"GetTask is answered after 400 ms", func(c *Config) { c.Get.Slow = 400 * ms }},
	"live-stamps":   {"GetTask gives every state the time of the answer", func(c *Config) { c.Get.Live = true }},
	"relapses":      {"a completed task works again in the store 200 ms later, by a time of its own", func(c *Config) { c.Script.Relapses = 200 * ms }},
	"get-unknown":   {"GetTask is -32601, cancel and resubscribe too (C85)", func(c *Config) { c.Get.Refuse = -32601; c.Cancel.Refuse = -32601; c.RPC.NoResubscribe = true }},
	"get-other-id":  {"GetTask answers with another id", func(c *Config) { c.Get.OtherID = true }},
	"get-wrapped":   {"GetTask wraps the Task as a send does (C40)", func(c *Config) { c.Get.Wrapped = true }},
	"purges":        {"terminal tasks are forgotten at once", func(c *Config) { c.Get.Purged = true }},
	"slow-clock":    {"status.timestamp is a second behind Date", func(c *Config) { c.RPC.ClockOff = -sec }},
	"zone-clock":    {"status.timestamp is seven hours behind Date", func(c *Config) { c.RPC.ClockOff = -7 * 3600 * sec }},
	"stopped-clock": {"status.timestamp is always the same", func(c *Config) { c.RPC.ClockStands = true }},
	"no-timestamps": {"no status.timestamp", func(c *Config) { c.RPC.NoTimestamps = true }},

	// CancelTask.
	"zombie-cancel":        {"cancel answers canceled and chunks go on; GetTask says canceled", func(c *Config) { c.Cancel.Zombie = true }},
	"zombie-working":       {"cancel answers canceled and chunks go on; GetTask says working", func(c *Config) { c.Cancel.Zombie = true; c.Cancel.ZombieSays = Working }},
	"cancel-not-now":       {"cancel is always -32002 (legal)", func(c *Config) { c.Cancel.Refuse = -32002 }},
	"cancel-unknown":       {"cancel is -32601", func(c *Config) { c.Cancel.Refuse = -32601 }},
	"cancel-unsupported":   {"cancel is -32004", func(c *Config) { c.Cancel.Refuse = -32004 }},
	"cancel-fails":         {"cancel is -32603 (C72)", func(c *Config) { c.Cancel.Refuse = -32603 }},
	"cancel-not-found":     {"cancel is -32001", func(c *Config) { c.Cancel.Refuse = -32001 }},
	"cancel-later":         {"cancel answers working, canceled comes 300 ms later", func(c *Config) { c.Cancel.Later = 300 * ms }},
	"cancel-never":         {"cancel answers working and nothing happens (C70)", func(c *Config) { c.Cancel.Never = true }},
	"cancel-slow":          {"cancel is answered after 1 s", func(c *Config) { c.Cancel.Slow = sec }},
	"late-canceled-frame":  {"the canceled frame comes 200 ms after the answer", func(c *Config) { c.Cancel.FrameLate = 200 * ms }},
	"no-canceled-frame":    {"the stream closes without a canceled frame", func(c *Config) { c.Cancel.NoFrame = true }},
	"completes-after-all":  {"canceled, and a second later completed (C71)", func(c *Config) { c.Cancel.Revives = sec }},
	"cancel-forgotten":     {"GetTask says working again 100 ms after canceled, with the time of canceled", func(c *Config) { c.Cancel.Forgets = 100 * ms }},
	"revives-terminal":     {"takes messages to terminal tasks", func(c *Config) { c.FollowUp.ToTerminal = true }},
	"follow-up-new-id":     {"a follow-up gets a new id, the old task stays as it was (C68)", func(c *Config) { c.FollowUp.NewID = true }},
	"follow-up-rewritten":  {"a follow-up gets a new id and the old task moves on (a gateway)", func(c *Config) { c.FollowUp.Rewritten = true }},
	"follow-up-refused":    {"a follow-up to a task that asks is -32602", func(c *Config) { c.FollowUp.Refuse = -32602 }},
	"follow-up-early":      {"a follow-up to a working task is -32004 (legal)", func(c *Config) { c.FollowUp.Refuse = -32004; c.FollowUp.OnlyWorking = true }},
	"follow-up-not-found":  {"a follow-up is -32001", func(c *Config) { c.FollowUp.Refuse = -32001 }},
	"follow-up-message":    {"a follow-up is answered with a Message and continues the task", func(c *Config) { c.FollowUp.Message = true }},
	"follow-up-context":    {"a follow-up is answered with a new contextId", func(c *Config) { c.FollowUp.NewContext = true }},
	"follow-up-unpromised": {"never asks and begins a new task for a message to a working one, promised by nobody (legal)", func(c *Config) { c.FollowUp.NewID = true; c.Script.NeverAsks = true; c.Send.AtOnce = true }},
	"founding-third": {"a message without metadata.tenant is a new request; the first task stays working for ever", func(c *Config) {
		c.FollowUp.NewID = true
		c.FollowUp.UnlessMetadata = "tenant"
		c.Script.NeverAsks = true
		c.Send.AtOnce = true
	}},

	// Gateways that rewrite task ids.
	"ids-per-task":         {"a gateway gives every task one other id", func(c *Config) { c.Gateway.IDs = "per-task" }},
	"ids-per-answer":       {"a gateway gives tasks another id in every answer and stream", func(c *Config) { c.Gateway.IDs = "per-answer" }},
	"ids-per-event":        {"a gateway gives tasks another id in every answer and event", func(c *Config) { c.Gateway.IDs = "per-event" }},
	"ids-in-streams":       {"a gateway gives tasks another id in every stream", func(c *Config) { c.Gateway.IDs = "in-streams" }},
	"correlates":           {"metadata.correlationId tells tasks apart", func(c *Config) { c.Gateway.Correlation = "metadata" }},
	"correlates-by-header": {"the header X-Correlation-Id tells tasks apart", func(c *Config) { c.Gateway.Correlation = "header" }},

	// Cards.
	"legacy-path":             {"the card is at agent.json only (C50)", func(c *Config) { c.Card.Path = "legacy" }},
	"prefixed":                {"the agent lives under /agents/one (C48)", func(c *Config) { c.Prefix = "/agents/one" }},
	"new-path":                {"the card is at agent-card.json only", func(c *Config) { c.Card.Path = "new" }},
	"both-paths":              {"the card is at both well-known paths", func(c *Config) { c.Card.Path = "both" }},
	"card-elsewhere":          {"the card is at /v1/card only (C52)", func(c *Config) { c.Card.Path = "/v1/card" }},
	"card-wrong-url":          {"the card's url leads to a 404 (C83)", func(c *Config) { c.Card.URL = "/a2a/tick/a2a/tock/" }},
	"card-relative":           {"the card's url is /a2a (C56)", func(c *Config) { c.Card.URL = "/a2a" }},
	"card-wildcard":           {"the card's url is http://0.0.0.0:8000/ (C46)", func(c *Config) { c.Card.URL = "http://0.0.0.0:8000/" }},
	"card-other-origin":       {"the card's url is on another origin (C109)", func(c *Config) { c.Card.URL = "http://other.example.invalid/a2a" }},
	"card-metadata":           {"the card's url is the cloud's metadata service (C110)", func(c *Config) { c.Card.URL = "http://169.254.169.254/latest/meta-data/" }},
	"card-is-endpoint":        {"the card's url is the card (C54)", func(c *Config) { c.Card.URL = newCardPath }},
	"streaming-false":         {"streaming is false", func(c *Config) { c.Card.Streaming = raw("false") }},
	"streaming-null":          {"streaming is null (C31)", func(c *Config) { c.Card.Streaming = raw("null") }},
	"streaming-yes":           {`streaming is "yes" (C59)`, func(c *Config) { c.Card.Streaming = raw(`"yes"`) }},
	"no-capabilities":         {"no capabilities member (C57)", func(c *Config) { c.Card.NoCapabilities = true }},
	"history":                 {"stateTransitionHistory is true", func(c *Config) { c.Card.StateTransitionHistory = raw("true") }},
	"declares-push":           {"pushNotifications is true, every call about them -32003 (C33)", func(c *Config) { c.Card.PushNotifications = raw("true") }},
	"push":                    {"push notifications are declared and sent", func(c *Config) { c.pushes(PushConfig{}) }},
	"push-undeclared":         {"push notifications are sent and not declared", func(c *Config) { c.Push.Sends = true }},
	"push-silent":             {"webhooks are accepted and never called", func(c *Config) { c.pushes(PushConfig{Silent: true}) }},
	"push-unsupported":        {"push is declared, webhooks are -32004 by the method and passed over in messages (C33)", func(c *Config) { c.pushes(PushConfig{Refuse: -32004, NoInline: true}) }},
	"push-unknown":            {"push is declared, its methods are -32601", func(c *Config) { c.pushes(PushConfig{Refuse: -32601, NoInline: true}) }},
	"push-refused-everywhere": {"push is declared, webhooks are -32003 by the method and with messages", func(c *Config) { c.pushes(PushConfig{Refuse: -32003, RefuseInline: -32003}) }},
	"push-fails":              {"push is declared, its methods are -32603 (C33)", func(c *Config) { c.pushes(PushConfig{Refuse: -32603, NoInline: true}) }},
	"push-not-found":          {"giving a task a webhook is -32001", func(c *Config) { c.pushes(PushConfig{Refuse: -32001, NoInline: true}) }},
	"push-private": {"private addresses are refused with -32602 (C80)", func(c *Config) {
		c.pushes(PushConfig{Refuse: -32602, RefuseText: "callback address not allowed", NoInline: true})
	}},
	"push-private-unsupported": {"private addresses are refused with -32004 and a text that says so", func(c *Config) {
		c.pushes(PushConfig{Refuse: -32004, RefuseText: "webhook URL resolves to a private address", RefuseInline: -32602})
	}},
	"push-inline-only":   {"webhooks are taken with messages, the method is -32601", func(c *Config) { c.pushes(PushConfig{Refuse: -32601}) }},
	"push-method-only":   {"webhooks are taken by the method and passed over in messages", func(c *Config) { c.pushes(PushConfig{NoInline: true}) }},
	"push-streamed-only": {"webhooks are called for tasks begun by a stream alone (C81)", func(c *Config) { c.pushes(PushConfig{OnlyStreamed: true}) }},
	"push-token-only":    {"webhooks are called with the token and without credentials (C77)", func(c *Config) { c.pushes(PushConfig{Auth: "none"}) }},
	"push-no-secrets":    {"webhooks are called without token and credentials", func(c *Config) { c.pushes(PushConfig{Token: "none", Auth: "none"}) }},
	"push-wrong-secrets": {"webhooks are called with another token and other credentials", func(c *Config) { c.pushes(PushConfig{Token: "wrong", Auth: "wrong"}) }},
	"push-wrong-auth":    {"webhooks are called with the token and other credentials", func(c *Config) { c.pushes(PushConfig{Auth: "wrong"}) }},
	"push-new-header":    {"the token is in A2A-Notification-Token", func(c *Config) { c.pushes(PushConfig{Token: "new"}) }},
	"push-bearer-token":  {"the token is sent as the credentials", func(c *Config) { c.pushes(PushConfig{Token: "bearer"}) }},
	"push-bare-task":     {"webhooks get a bare Task in every generation (C78)", func(c *Config) { c.pushes(PushConfig{Body: "task"}) }},
	"push-new-body":      {"webhooks get 1.0's bodies in every generation", func(c *Config) { c.pushes(PushConfig{Body: "new"}) }},
	"push-text":          {"webhooks get a body that is no JSON", func(c *Config) { c.pushes(PushConfig{Body: "text"}) }},
	"push-giant":         {"webhooks get bodies of 128 KiB", func(c *Config) { c.pushes(PushConfig{Body: "giant"}) }},
	"push-twice":         {"webhooks are called twice about everything", func(c *Config) { c.pushes(PushConfig{Twice: true}) }},
	"push-reversed":      {"webhooks are called about the last event first", func(c *Config) { c.pushes(PushConfig{Reversed: true}) }},
	"push-late":          {"webhooks are called 300 ms late", func(c *Config) { c.pushes(PushConfig{Late: 300 * ms}) }},
	"push-long-only":     {"webhooks are called about tasks that have lived 1 s (legal: the agent decides what is significant)", func(c *Config) { c.pushes(PushConfig{MinAge: sec}) }},
	"push-takes-time":    {"webhooks are taken by the method and take effect after 1 s", func(c *Config) { c.pushes(PushConfig{NoInline: true, Takes: sec}) }},
	"push-early":         {"webhooks are called before the message is answered", func(c *Config) { c.pushes(PushConfig{Early: true}) }},
	"push-end-only":      {"webhooks are called about the last state alone", func(c *Config) { c.pushes(PushConfig{Calls: "end"}) }},
	"push-begin-only":    {"webhooks are called about everything but the last state", func(c *Config) { c.pushes(PushConfig{Calls: "begin"}) }},
	"push-other-task":    {"webhooks are called about another task", func(c *Config) { c.pushes(PushConfig{OtherID: true}) }},
	"push-no-id":         {"webhooks get no id, and there is no method to delete them", func(c *Config) { c.pushes(PushConfig{NoID: true, NoDelete: true}) }},
	"declares-extended":  {"an extended card is declared and not configured", func(c *Config) { c.Card.ExtendedAgentCard = raw("true") }},
	"tenant":             {`the interface names the tenant "acme" and demands it (C99)`, func(c *Config) { c.Card.Tenant = "acme" }},
	"union-card":         {"the card has the members of 0.3 and of 1.0", func(c *Config) { c.Card.Union = true }},
	"card-10-wire-03":    {"the card says 1.0, the wire is 0.3 (C37)", func(c *Config) { c.Card.Generation = V10; c.Generation = V03 }},
	"card-03-wire-01":    {"the card says 0.3, the wire is 0.1 (C38)", func(c *Config) { c.Card.Generation = V03; c.Generation = V01 }},
	"card-03-wire-10":    {"the card says 0.3, the wire is 1.0", func(c *Config) { c.Card.Generation = V03; c.Generation = V10 }},
	"grpc-only":          {"the only interface is gRPC (C99)", func(c *Config) { c.Bindings = []string{bindingGRPC} }},
	"foreign-binding": {"the only interface has a binding of somebody's own (C99)", func(c *Config) {
		c.Card.Interfaces = raw(`[{"url":"wss://peer.example.invalid/a2a","protocolBinding":"https://bindings.example/ws","protocolVersion":"1.0"}]`)
	}},
	"odd-interfaces":     {"interfaces are null, a string and one without url (C59)", func(c *Config) { c.Card.Interfaces = raw(`[null,"x",{"protocolBinding":"JSONRPC"}]`) }},
	"estimated-duration": {"the skill has an estimatedDuration of 2 s", func(c *Config) { c.Card.EstimatedDuration = raw(`"PT2S"`) }},
	"giant-card":         {"the card has 2 MiB", func(c *Config) { c.Card.Giant = 2 << 20 }},
	"large-card":         {"the card has 47 kB, which is legal (C61)", func(c *Config) { c.Card.Giant = 47_000 }},
	"malformed-card":     {"the card is cut in half", func(c *Config) { c.Card.Malformed = true }},
	"html-card":          {"the card is a web page", func(c *Config) { c.Card.HTML = true }},
	"card-bom":           {"the card begins with a byte order mark", func(c *Config) { c.Card.BOM = true }},
	"card-gzip":          {"the card is compressed and does not say so", func(c *Config) { c.Card.Gzip = true }},
	"rolling-deploy":     {"every other card does not declare streaming", func(c *Config) { c.Card.Rolling = true }},
	"no-etag":            {"the card has no ETag", func(c *Config) { c.Card.NoETag = true }},

	// gRPC, on the agent's own port.
	"grpc-too":   {"the card lists gRPC after JSON-RPC", func(c *Config) { c.Bindings = []string{bindingJSONRPC, bindingGRPC} }},
	"grpc-first": {"the card lists gRPC before JSON-RPC", func(c *Config) { c.Bindings = []string{bindingGRPC, bindingJSONRPC} }},

	// HTTP+JSON, for agents whose card lists it.
	"rest":                 {"the card lists HTTP+JSON and nothing else", func(c *Config) { c.Bindings = []string{bindingREST} }},
	"rest-too":             {"the card lists HTTP+JSON after JSON-RPC", func(c *Config) { c.Bindings = []string{bindingJSONRPC, bindingREST} }},
	"rest-first":           {"the card lists HTTP+JSON before JSON-RPC", func(c *Config) { c.Bindings = []string{bindingREST, bindingJSONRPC} }},
	"rest-problem-details": {"REST errors are problem details (1.0.0)", func(c *Config) { c.REST.Errors = "problem" }},
	"rest-no-reason":       {"REST errors are google.rpc.Status without a reason", func(c *Config) { c.REST.Errors = "status" }},
	"rest-message-errors":  {"REST errors are a mere message", func(c *Config) { c.REST.Errors = "message" }},
	"rest-bare-errors":     {"REST errors are a status without JSON", func(c *Config) { c.REST.Errors = "bare" }},
	"rest-old-status":      {"REST errors have the statuses of 1.0.0", func(c *Config) { c.REST.OldStatus = true }},
	"rest-created":         {"REST sends are 201 and cancels 202", func(c *Config) { c.REST.Created = true }},
	"rest-subscribe-get":   {"re-attaching is a GET", func(c *Config) { c.REST.Subscribe = "GET" }},
	"rest-subscribe-post":  {"re-attaching is a POST", func(c *Config) { c.REST.Subscribe = "POST" }},
	"rest-no-tenant-path":  {"tenants are in bodies and queries, not in paths", func(c *Config) { c.REST.NoTenantPath = true }},
	"rest-own-media-type":  {"bodies must be application/a2a+json", func(c *Config) { c.REST.OwnMediaType = true }},
	"rest-no-task-paths":   {"a gateway routes messages and nothing below /tasks (C85)", func(c *Config) { c.REST.NoTaskPaths = true }},
	"rest-other-mount": {"1.0's paths stand under /v1, or 0.3's do not", func(c *Config) {
		if c.REST.At = "/"; c.Generation == V10 || c.Generation == "" {
			c.REST.At = "/v1"
		}
	}},

	// JSON-RPC.
	"mcp":              {"every method is -32601 (C35)", func(c *Config) { c.RPC.Unknown = true }},
	"params-first":     {"params without a member are -32602 whatever the method", func(c *Config) { c.RPC.ParamsFirst = true }},
	"id-string":        {"ids of answers are strings, whatever the request's was", func(c *Config) { c.RPC.ID = "string" }},
	"id-number":        {"answers carry the id 1", func(c *Config) { c.RPC.ID = "number" }},
	"id-wrong":         {"answers carry another id", func(c *Config) { c.RPC.ID = "wrong" }},
	"id-null":          {"answers carry the id null", func(c *Config) { c.RPC.ID = "null" }},
	"id-missing":       {"answers carry no id", func(c *Config) { c.RPC.ID = "missing" }},
	"checks-version":   {"an A2A-Version other than the generation's is -32009 (C43)", func(c *Config) { c.RPC.CheckVersion = true }},
	"errors-are-400":   {"JSON-RPC errors come with status 400", func(c *Config) { c.RPC.ErrorStatus = 400 }},
	"errors-are-500":   {"JSON-RPC errors come with status 500", func(c *Config) { c.RPC.ErrorStatus = 500 }},
	"plain-text":       {"unary answers are called text/plain", func(c *Config) { c.RPC.PlainText = true }},
	"masked-errors":    {"every error is -32603", func(c *Config) { c.RPC.Masked = true }},
	"numeric-states":   {"1.0 states are enum numbers", func(c *Config) { c.RPC.NumericStates = true }},
	"lower-states":     {"1.0 states are the words of 0.x", func(c *Config) { c.RPC.LowerStates = true }},
	"cancelled":        {"1.0 spells TASK_STATE_CANCELLED", func(c *Config) { c.RPC.DoubleL = true }},
	"kinds":            {"results of 1.0 carry a kind too, as in 0.3", func(c *Config) { c.RPC.Kinds = true }},
	"vendor-members":   {"unknown members, and final in 1.0 (C76)", func(c *Config) { c.RPC.Vendor = true }},
	"no-resubscribe":   {"SubscribeToTask is -32601", func(c *Config) { c.RPC.NoResubscribe = true }},
	"speaks-10-and-03": {"methods of 1.0 and of 0.3 at one endpoint", func(c *Config) { c.Also = []Generation{V03, V10} }},

	// HTTP.
	"status-401":    {"everything is 401", func(c *Config) { c.fault(Fault{Status: 401}) }},
	"status-403":    {"everything is 403", func(c *Config) { c.fault(Fault{Status: 403}) }},
	"status-404":    {"everything is 404", func(c *Config) { c.fault(Fault{Status: 404}) }},
	"status-429":    {"everything is 429 with Retry-After: 30", func(c *Config) { c.fault(Fault{Status: 429, RetryAfter: 30}) }},
	"status-500":    {"everything is 500", func(c *Config) { c.fault(Fault{Status: 500}) }},
	"status-503":    {"everything is 503", func(c *Config) { c.fault(Fault{Status: 503}) }},
	"posts-401":     {"every POST is 401", func(c *Config) { c.fault(Fault{Status: 401, On: "post"}) }},
	"posts-403":     {"every POST is 403", func(c *Config) { c.fault(Fault{Status: 403, On: "post"}) }},
	"posts-404":     {"every POST is 404 (C35)", func(c *Config) { c.fault(Fault{Status: 404, On: "post"}) }},
	"posts-405":     {"every POST is 405", func(c *Config) { c.fault(Fault{Status: 405, On: "post"}) }},
	"posts-429":     {"every POST is 429", func(c *Config) { c.fault(Fault{Status: 429, On: "post"}) }},
	"posts-500":     {"every POST is 500", func(c *Config) { c.fault(Fault{Status: 500, On: "post"}) }},
	"posts-503":     {"every POST is 503", func(c *Config) { c.fault(Fault{Status: 503, On: "post"}) }},
	"posts-html":    {"every POST is a web page (C35)", func(c *Config) { c.fault(Fault{HTML: true, On: "post"}) }},
	"posts-301":     {"every POST is redirected by 301 (C47)", func(c *Config) { c.fault(Fault{Redirect: 301, On: "post"}) }},
	"posts-302":     {"every POST is redirected by 302", func(c *Config) { c.fault(Fault{Redirect: 302, On: "post"}) }},
	"posts-307":     {"every POST is redirected by 307 (C47)", func(c *Config) { c.fault(Fault{Redirect: 307, On: "post"}) }},
	"card-301":      {"the card is redirected by 301", func(c *Config) { c.fault(Fault{Redirect: 301, On: "card"}) }},
	"card-302-away": {"the card is redirected to the cloud's metadata service (C110)", func(c *Config) { c.fault(Fault{Redirect: 302, On: "card", To: "http://169.254.169.254/"}) }},
	"card-404":      {"the card is 404", func(c *Config) { c.fault(Fault{Status: 404, On: "card"}) }},
	"needs-token":   {`everything needs the bearer token "secret"`, func(c *Config) { c.fault(Fault{Bearer: "secret"}) }},
	"posts-token":   {`every POST needs the bearer token "secret"`, func(c *Config) { c.fault(Fault{On: "post", Bearer: "secret"}) }},
	"hangs":         {"accepts and never answers", func(c *Config) { c.fault(Fault{Hang: true}) }},
	"posts-hang":    {"POSTs are never answered", func(c *Config) { c.fault(Fault{Hang: true, On: "post"}) }},
	"drops":         {"closes connections without a byte (C88)", func(c *Config) { c.fault(Fault{Drop: true}) }},
	"drops-often":   {"closes every third connection without a byte", func(c *Config) { c.fault(Fault{Drop: true, Every: 3}) }},
	"endless-card":  {"the card never ends", func(c *Config) { c.fault(Fault{EndlessBody: true, On: "card"}) }},
	"endless-body":  {"answers to POSTs never end", func(c *Config) { c.fault(Fault{EndlessBody: true, On: "post"}) }},
	"giant-body":    {"answers to POSTs have 8 MiB", func(c *Config) { c.fault(Fault{Giant: 8 << 20, On: "post"}) }},
	"drips":         {"answers come a byte every 5 ms", func(c *Config) { c.Drip = 5 * ms }},
}
