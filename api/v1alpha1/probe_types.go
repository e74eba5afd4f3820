package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Probes says what the agent is asked, how often and at what cost. There are two tiers: cheap rounds that never reach
// the agent's model (reachability), and rounds that run real tasks (behavior).
type Probes struct {
	// reachability are the cheap rounds: they fetch the card and never start a task.
	// +optional
	Reachability ReachabilityProbe `json:"reachability,omitzero"`

	// behavior are the rounds that run real tasks, which cost the agent's owner money.
	// +kubebuilder:validation:XValidation:rule="!has(self.confirmInterval) || !has(self.interval) || duration(self.confirmInterval) <= duration(self.interval)",message="confirmInterval must not be longer than interval: it brings the next round forward",fieldPath=".confirmInterval"
	// +kubebuilder:validation:XValidation:rule="!has(self.taskTimeout) || !has(self.firstEventTimeout) || duration(self.firstEventTimeout) <= duration(self.taskTimeout)",message="firstEventTimeout must not be longer than taskTimeout: raise taskTimeout or shorten firstEventTimeout",fieldPath=".firstEventTimeout"
	// +kubebuilder:validation:XValidation:rule="!has(self.taskTimeout) || !has(self.idleTimeout) || duration(self.idleTimeout) <= duration(self.taskTimeout)",message="idleTimeout must not be longer than taskTimeout: raise taskTimeout or shorten idleTimeout",fieldPath=".idleTimeout"
	// +optional
	Behavior BehaviorProbe `json:"behavior,omitzero"`

	// message is what an ordinary probe says. Unset: one text part "ping". Choose something that the agent answers
	// cheaply and that has no effect.
	// +optional
	Message *Message `json:"message,omitempty"`

	// fixtures are messages that bring the agent into states which an ordinary message does not.
	// +optional
	Fixtures Fixtures `json:"fixtures,omitzero"`

	// push says what is known of the way from the agent to the operator's webhooks.
	// +optional
	Push PushProbe `json:"push,omitzero"`
}

// PushProbe sets how push notifications are judged.
type PushProbe struct {
	// reachable says that the agent can reach the operator's webhooks, whose URL the operator's administrator set. An agent
	// that accepts a webhook and never calls it is then demoted. Default false: such silence is not held against the agent,
	// because agents are advised to block private addresses, unless the URL is on the internet or the agent called it
	// before.
	// +optional
	Reachable bool `json:"reachable,omitempty"`
}

// ReachabilityProbe sets the cheap rounds.
type ReachabilityProbe struct {
	// interval between two cheap rounds. Unset: the operator's default, 5m unless configured otherwise; the operator may
	// raise it to its floor.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('24h')",message="must be from 1ms to 24h, written like 5m or 1h30m"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// mode says what a cheap round asks. Card fetches the card. CardAndTask also asks for a task that cannot exist, which
	// proves that the endpoint answers. None asks nothing, for agents that scale to zero; behavior rounds then run
	// whether or not the agent is reachable. Unset: the operator's default, CardAndTask unless configured otherwise.
	// +kubebuilder:validation:Enum=Card;CardAndTask;None
	// +optional
	Mode ReachabilityMode `json:"mode,omitempty"`
}

// ReachabilityMode is what a cheap round asks.
type ReachabilityMode string

// The modes of cheap rounds.
const (
	ReachabilityCard        ReachabilityMode = "Card"
	ReachabilityCardAndTask ReachabilityMode = "CardAndTask"
	ReachabilityNone        ReachabilityMode = "None"
)

// BehaviorProbe sets the rounds that run real tasks.
type BehaviorProbe struct {
	// interval between two behavior rounds. Streaming is asked in each, most else in every sixth. trust.duration must be at
	// least 3 times as long. Unset: the operator's default, 1h unless configured otherwise; the operator may raise it to its
	// floor, and spaces rounds further where maxTasksPerDay is short.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('168h')",message="must be from 1ms to 168h, written like 1h or 1h30m"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// confirmInterval is how soon the next round follows a first contradiction, or a first clean round of a demoted
	// capability. Unset: the operator's default, 2m unless configured otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('168h')",message="must be from 1ms to 168h, written like 2m or 1h30m"
	// +optional
	ConfirmInterval *metav1.Duration `json:"confirmInterval,omitempty"`

	// taskTimeout bounds one probe task in all. A stream still open then is closed, and nothing is learned from that.
	// Unset: the operator's default, 90s unless configured otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('1h')",message="must be from 1ms to 1h, written like 90s or 1h30m"
	// +optional
	TaskTimeout *metav1.Duration `json:"taskTimeout,omitempty"`

	// firstEventTimeout is how long a stream may stay without a first event before the probe looks elsewhere. Passing it
	// never costs trust. Unset: the operator's default, 20s unless configured otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('1h')",message="must be from 1ms to 1h, written like 20s or 1h30m"
	// +optional
	FirstEventTimeout *metav1.Duration `json:"firstEventTimeout,omitempty"`

	// idleTimeout is how long a stream may stay silent between events before the probe asks for the task beside it. The
	// stream is not closed. Unset: the operator's default, 30s unless configured otherwise.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9.]+(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?h)?([0-9]{1,7}([.][0-9]{1,3})?m)?([0-9]{1,8}([.][0-9]{1,9})?s)?([0-9]{1,8}([.][0-9]{1,6})?ms)?$') && duration(self) >= duration('1ms') && duration(self) <= duration('1h')",message="must be from 1ms to 1h, written like 30s or 1h30m"
	// +optional
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// maxTasksPerDay bounds the tasks that probes start at the agent in any 24 hours. Two thirds are kept for renewing
	// trust, the rest for rounds that users ask for. 0 means no task at all: nothing can then be Trusted. Unset: the
	// operator's default, 72 unless configured otherwise; the operator may lower it to its ceiling.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	MaxTasksPerDay *int32 `json:"maxTasksPerDay,omitempty"`
}

// Fixtures bring the agent into states which an ordinary message does not.
type Fixtures struct {
	// longRunning makes the agent work long enough to be cancelled. Unset: Cancellation stays Unverified with reason
	// NoFixture.
	// +optional
	LongRunning *LongRunningFixture `json:"longRunning,omitempty"`

	// inputModes are messages in media types that the card may declare as input modes, for types of which there is no
	// built-in sample, or instead of it. Built in are text/plain, text/markdown, text/html, text/csv, application/json,
	// application/pdf, image/png, image/jpeg, image/gif and audio/wav. A declared mode without a message is not asked.
	// Up to 16.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=mediaType
	// +optional
	InputModes []InputModeFixture `json:"inputModes,omitempty"`

	// inputRequired makes the agent ask back. Unset: Continuation stays Unverified with reason NoFixture.
	// +optional
	InputRequired *InputRequiredFixture `json:"inputRequired,omitempty"`
}

// LongRunningFixture is a message that takes the agent a while.
type LongRunningFixture struct {
	// message to send, such as "count to 1000 slowly".
	// +required
	Message Message `json:"message"`
}

// InputModeFixture is a message in one media type.
//
// +kubebuilder:validation:XValidation:rule="self.message.parts.exists(p, (has(p.mediaType) ? p.mediaType : has(p.text) ? 'text/plain' : has(p.data) ? 'application/json' : 'application/octet-stream') == self.mediaType)",message="message must have a part of this mediaType: set mediaType in the part",fieldPath=".message"
type InputModeFixture struct {
	// mediaType as the card declares it, in lower case and without parameters, such as image/png.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*$')",message="must be a media type in lower case without parameters, such as image/png"
	// +required
	MediaType string `json:"mediaType"`

	// message to send. It begins a task of its own and should be cheap and without effect.
	// +required
	Message Message `json:"message"`
}

// InputRequiredFixture is a message that the agent answers with a question, and the reply to it.
type InputRequiredFixture struct {
	// message to send, such as "book a trip".
	// +required
	Message Message `json:"message"`

	// reply to the agent's question, such as "to Oslo". It is sent as a follow-up to the same task.
	// +required
	Reply Message `json:"reply"`
}

// Message is what a probe says.
type Message struct {
	// parts of the message, from 1 to 8.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +required
	Parts []Part `json:"parts"`

	// metadata is sent with the message, for agents that need a key in it such as a tenant. Its keys, not its values,
	// are shown in status beside a verdict (probedWith). Up to 16 keys of up to 63 characters.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[A-Za-z0-9][-A-Za-z0-9._/:]{0,62}$'))",message="keys have 1 to 63 characters: letters, digits, and - . _ / : after the first"
	// +optional
	Metadata map[string]MetadataValue `json:"metadata,omitempty"`
}

// MetadataValue is a text of up to 256 characters.
//
// +kubebuilder:validation:MaxLength=256
type MetadataValue string

// Part is one part of a message: exactly one of text, data and raw is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.text), has(self.data), has(self.raw)].filter(x, x).size() == 1",message="set exactly one of text, data and raw in each part"
type Part struct {
	// text of the part, up to 8192 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Text string `json:"text,omitempty"`

	// data of the part: a JSON object of up to 64 members, sent as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Data *runtime.RawExtension `json:"data,omitempty"`

	// raw bytes of the part in base64, up to 64 KiB once encoded.
	// +kubebuilder:validation:MinLength=4
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`
	// +optional
	Raw []byte `json:"raw,omitempty"`

	// mediaType of the part, such as image/png. Unset: text/plain for text, application/json for data,
	// application/octet-stream for raw.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9!#$&^_.+-]*/[a-zA-Z0-9][a-zA-Z0-9!#$&^_.+-]*$')",message="must be a media type without parameters, such as image/png"
	// +optional
	MediaType string `json:"mediaType,omitempty"`
}
