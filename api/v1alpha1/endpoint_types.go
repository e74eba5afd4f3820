package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Origin is scheme://host[:port], as browsers understand it.
//
// +kubebuilder:validation:MinLength=8
// +kubebuilder:validation:MaxLength=262
// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname().size() > 0 && (url(self).getPort().size() == 0 || (url(self).getPort().size() <= 5 && int(url(self).getPort()) >= 1 && int(url(self).getPort()) <= 65535)) && self.matches('^[A-Za-z]+://[^/?#@\\\\x00-\\\\x20\\\\x7f]+$')",message="an origin is scheme://host[:port] and nothing after it, such as https://api.example.com"
type Origin string

// ServiceReference names a port of a Service in the namespace of the object.
type ServiceReference struct {
	// name of the Service, in the namespace of this object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a Service in this namespace: lower-case letters, digits and -, without a namespace or domain"
	// +required
	Name string `json:"name"`

	// port of the Service: its name, or its number from 1 to 65535.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 65535 : self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a port of the Service, such as http, or its number from 1 to 65535"
	// +required
	Port intstr.IntOrString `json:"port"`

	// path of the agent below the Service, starting with a slash. Default "/".
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^?#\\\\x00-\\\\x20\\\\x7f]*$') && !self.startsWith('//') && isURL('http://h' + self)",message="must be an absolute path without query or fragment, such as /agents/route"
	// +kubebuilder:default="/"
	// +optional
	Path string `json:"path,omitempty"`

	// scheme to speak: http or https. Default "http".
	// +kubebuilder:validation:Enum=http;https
	// +kubebuilder:default=http
	// +optional
	Scheme string `json:"scheme,omitempty"`
}

// CardSource says where the card is found.
type CardSource struct {
	// path of the card on the origin of the address, starting with a slash, such as /v1/card. Unset: the well-known
	// names agent-card.json and agent.json are tried below the address.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^?#\\\\x00-\\\\x20\\\\x7f]*$') && !self.startsWith('//') && isURL('http://h' + self)",message="must be an absolute path without query or fragment, such as /v1/card"
	// +optional
	Path string `json:"path,omitempty"`
}

// InterfaceSelection narrows the choice of interface.
type InterfaceSelection struct {
	// binding to use: JSONRPC, HTTP+JSON or GRPC. Unset: any of them, in the order of the card.
	// +kubebuilder:validation:Enum=JSONRPC;HTTP+JSON;GRPC
	// +optional
	Binding string `json:"binding,omitempty"`

	// protocolVersion to use, such as "1.0" or "0.3" (in quotes, or YAML reads a number). Unset: the newest that is
	// spoken.
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,3}[.][0-9]{1,3}([.][0-9]{1,3})?$')",message="must be a version of the protocol in quotes, such as \"1.0\""
	// +optional
	ProtocolVersion string `json:"protocolVersion,omitempty"`

	// urlFrom says which address is used: Card takes the interface's URL from the card, Endpoint takes the address of
	// this spec (for cards that name localhost or an internal address). Unset: Card.
	// +kubebuilder:validation:Enum=Card;Endpoint
	// +optional
	URLFrom URLSource `json:"urlFrom,omitempty"`
}

// URLSource is where the address of an interface comes from.
type URLSource string

// The sources of an interface's address.
const (
	URLFromCard     URLSource = "Card"
	URLFromEndpoint URLSource = "Endpoint"
)

// Auth is a union: type names the one member that is set.
//
// +union
// +kubebuilder:validation:XValidation:rule="(self.type == 'Bearer') == has(self.bearer)",message="type Bearer needs the member bearer, and no other: set auth.bearer.secretRef"
type Auth struct {
	// type names the member that is set. Bearer sends "Authorization: Bearer TOKEN".
	// +unionDiscriminator
	// +kubebuilder:validation:Enum=Bearer
	// +required
	Type AuthType `json:"type"`

	// bearer is set if type is Bearer.
	// +optional
	Bearer *BearerAuth `json:"bearer,omitempty"`
}

// AuthType names a way to authenticate.
type AuthType string

// AuthBearer sends a bearer token from a Secret.
const AuthBearer AuthType = "Bearer"

// BearerAuth takes a token from a Secret.
type BearerAuth struct {
	// secretRef names the Secret and the key in it that holds the token. The Secret is in the namespace of this object
	// and carries the label trust.agentpeer.dev/send-to-peers: "true"; without the label its data is not used. The token goes
	// to the origin of the address only, never to allowedOrigins.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// SecretKeyReference names one key of a Secret in the namespace of the object.
type SecretKeyReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="must be the name of an object in this namespace: lower-case letters, digits, - and ."
	// +required
	Name string `json:"name"`

	// key in the Secret. Default "token".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key: letters, digits, - _ and ."
	// +kubebuilder:default=token
	// +optional
	Key string `json:"key,omitempty"`
}

// TLS adjusts the verification of certificates.
type TLS struct {
	// caRef names certificates to trust besides the system's, in PEM. Unset: the system's only.
	// +optional
	CARef *CAReference `json:"caRef,omitempty"`
}

// CAReference names one key of a ConfigMap or Secret in the namespace of the object.
type CAReference struct {
	// kind of the object that holds the certificates: ConfigMap or Secret.
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	// +required
	Kind CAReferenceKind `json:"kind"`

	// name of that object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="must be the name of an object in this namespace: lower-case letters, digits, - and ."
	// +required
	Name string `json:"name"`

	// key in it. Default "ca.crt".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key: letters, digits, - _ and ."
	// +kubebuilder:default=ca.crt
	// +optional
	Key string `json:"key,omitempty"`
}

// CAReferenceKind is the kind of object that holds certificates.
type CAReferenceKind string

// The kinds that can hold certificates.
const (
	CAFromConfigMap CAReferenceKind = "ConfigMap"
	CAFromSecret    CAReferenceKind = "Secret"
)
