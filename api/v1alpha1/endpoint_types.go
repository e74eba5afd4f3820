package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Origin is scheme://host[:port], as browsers understand it.
//
// +kubebuilder:validation:MinLength=8
// +kubebuilder:validation:MaxLength=262
// +kubebuilder:validation:XValidation:rule="!self.matches('^[^/]*//[^/?#]*%')",message="must not have a % in its host: write the host in plain letters, one beyond ASCII in its xn-- form, and an IPv6 address without a zone"
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

	// verification says what is made of the card's signatures. Unset: nothing.
	// +optional
	Verification CardVerification `json:"verification,omitzero"`
}

// CardVerification says which keys a card may be signed with, and what follows if it is not. Keys come from here and from nowhere
// else: what a signature names as its key's address (jku) is the signer's word about himself.
//
// +kubebuilder:validation:XValidation:rule="!has(self.policy) || self.policy == 'Ignore' || has(self.keys) || has(self.jwksURL)",message="policy Warn or Require needs keys to verify with: name a ConfigMap or Secret in keys, or set jwksURL"
type CardVerification struct {
	// policy is Ignore, Warn or Require. Ignore verifies nothing. Warn verifies, and shows the result in status.card.signature and in
	// the condition SignatureVerified. Require also makes the decision Unavailable unless a signature stands that covers all of the
	// card. Unset: Ignore.
	// +kubebuilder:validation:Enum=Ignore;Warn;Require
	// +optional
	Policy SignaturePolicy `json:"policy,omitempty"`

	// keys names objects in this namespace that hold public keys: a JWK set (RFC 7517), a single JWK, or PEM. One signature by one of
	// the keys is enough, so that keys can be rotated. They are read before each round and are never sent anywhere.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Keys []KeyReference `json:"keys,omitempty"`

	// jwksURL is where a JWK set is fetched from, with every card that is read: https, on the origin of the address or on one of
	// allowedOrigins, without credentials. A set on the agent's own origin shows that the card is the agent's, and not that the
	// agent is whom you think it is.
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^/]*//[^/?#]*%')",message="must not have a % in its host: write the host in plain letters, one beyond ASCII in its xn-- form, and an IPv6 address without a zone"
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() != '' && !self.matches('^[^/]*//[^/?#]*@') && !self.contains('#') && !self.matches('[\\\\x00-\\\\x20\\\\x7f]')",message="must be an absolute https URL without user name or fragment, such as https://planner.example.com/.well-known/jwks.json"
	// +optional
	JWKSURL string `json:"jwksURL,omitempty"`
}

// SignaturePolicy says what follows from a card's signatures.
type SignaturePolicy string

// The signature policies.
const (
	SignatureIgnore  SignaturePolicy = "Ignore"
	SignatureWarn    SignaturePolicy = "Warn"
	SignatureRequire SignaturePolicy = "Require"
)

// KeyReference names one key of a ConfigMap or Secret in the namespace of the object.
type KeyReference struct {
	// kind of the object that holds the public keys: ConfigMap or Secret.
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	// +required
	Kind ReferenceKind `json:"kind"`

	// name of that object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="must be the name of an object in this namespace: lower-case letters, digits, - and ."
	// +required
	Name string `json:"name"`

	// key in it. Default "jwks.json".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key: letters, digits, - _ and ."
	// +kubebuilder:default=jwks.json
	// +optional
	Key string `json:"key,omitempty"`
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

// Auth is a union: type names the one member that is set. Which credential goes where is said here and never taken from the card: a
// card may name any header and any token endpoint it likes.
//
// +union
// +kubebuilder:validation:XValidation:rule="(self.type == 'Bearer') == has(self.bearer)",message="type Bearer needs the member bearer, and no other: set auth.bearer.secretRef"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Header') == has(self.header)",message="type Header needs the member header, and no other: set auth.header.name and auth.header.secretRef"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Query') == has(self.query)",message="type Query needs the member query, and no other: set auth.query.name and auth.query.secretRef"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Basic') == has(self.basic)",message="type Basic needs the member basic, and no other: set auth.basic.secretRef"
// +kubebuilder:validation:XValidation:rule="(self.type == 'OAuth2') == has(self.oauth2)",message="type OAuth2 needs the member oauth2, and no other: set auth.oauth2.tokenURL, clientID and clientSecretRef"
// +kubebuilder:validation:XValidation:rule="(self.type == 'ServiceAccount') == has(self.serviceAccount)",message="type ServiceAccount needs the member serviceAccount, and no other: set auth.serviceAccount.name"
type Auth struct {
	// type names the member that is set. Bearer sends "Authorization: Bearer TOKEN"; Header a header of your choice and Query a query
	// parameter, such as an API key; Basic a user name and a password; OAuth2 an access token that is got with a client's own
	// credentials; ServiceAccount a short-lived token of a ServiceAccount of this namespace. A client certificate is set under tls
	// and goes with any of these, or alone.
	// +unionDiscriminator
	// +kubebuilder:validation:Enum=Bearer;Header;Query;Basic;OAuth2;ServiceAccount
	// +required
	Type AuthType `json:"type"`

	// bearer is set if type is Bearer.
	// +optional
	Bearer *BearerAuth `json:"bearer,omitempty"`

	// header is set if type is Header.
	// +optional
	Header *HeaderAuth `json:"header,omitempty"`

	// query is set if type is Query.
	// +optional
	Query *QueryAuth `json:"query,omitempty"`

	// basic is set if type is Basic.
	// +optional
	Basic *BasicAuth `json:"basic,omitempty"`

	// oauth2 is set if type is OAuth2.
	// +optional
	OAuth2 *OAuth2Auth `json:"oauth2,omitempty"`

	// serviceAccount is set if type is ServiceAccount.
	// +optional
	ServiceAccount *ServiceAccountAuth `json:"serviceAccount,omitempty"`
}

// AuthType names a way to authenticate.
type AuthType string

// The ways to authenticate.
const (
	AuthBearer         AuthType = "Bearer"
	AuthHeader         AuthType = "Header"
	AuthQuery          AuthType = "Query"
	AuthBasic          AuthType = "Basic"
	AuthOAuth2         AuthType = "OAuth2"
	AuthServiceAccount AuthType = "ServiceAccount"
)

// BearerAuth takes a token from a Secret.
type BearerAuth struct {
	// secretRef names the Secret and the key in it that holds the token. The Secret is in the namespace of this object
	// and carries the label trust.agentpeer.dev/send-to-peers: "true"; without the label its data is not used. If it has the annotation
	// trust.agentpeer.dev/allowed-origins, the origin of the address must be in that list, with tls.serverName that name too, and
	// tls.caRef in its annotation trust.agentpeer.dev/allowed-cas. The token goes to the origin of the address only, never to allowedOrigins.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// HeaderAuth takes the value of a header from a Secret.
type HeaderAuth struct {
	// name of the header, such as X-API-Key. Headers that belong to HTTP or to the protocol, such as Host, Content-Type or A2A-Version,
	// are refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.-]+$')",message="must be the name of a header: letters, digits, - _ and ."
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().startsWith('a2a-') && !(self.lowerAscii() in ['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'accept', 'accept-encoding', 'keep-alive', 'proxy-connection', 'user-agent', 'idempotency-key'])",message="this header belongs to HTTP or to the protocol and cannot carry a credential: name the one that the agent reads its key from"
	// +required
	Name string `json:"name"`

	// secretRef names the Secret and the key in it that holds the value, under the conditions of auth.bearer.secretRef.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// QueryAuth takes the value of a query parameter from a Secret. URLs end up in the logs of whatever stands before the agent: use a
// header where the agent reads one.
type QueryAuth struct {
	// name of the query parameter, such as api_key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.-]+$')",message="must be the name of a query parameter: letters, digits, - _ and ."
	// +required
	Name string `json:"name"`

	// secretRef names the Secret and the key in it that holds the value, under the conditions of auth.bearer.secretRef.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// BasicAuth takes a user name and a password from a Secret.
type BasicAuth struct {
	// secretRef names a Secret with the keys username and password, as those of type kubernetes.io/basic-auth have them, under the
	// conditions of auth.bearer.secretRef.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// OAuth2Auth gets access tokens by the client credentials grant (RFC 6749, section 4.4). A token is kept until it expires, until the
// Secret changes or until the agent refuses it.
type OAuth2Auth struct {
	// tokenURL is the token endpoint: https, without user name, query or fragment. It is reached under the same rules as the agent, and no redirect
	// is followed. The client's secret goes to it and nowhere else.
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^/]*//[^/?#]*%')",message="must not have a % in its host: write the host in plain letters, one beyond ASCII in its xn-- form, and an IPv6 address without a zone"
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.matches('^[^/]*//[^/?#]*@') && !self.matches('[?#]') && !self.matches('[\\\\x00-\\\\x20\\\\x7f]')",message="must be an absolute https URL without user name, query or fragment, such as https://login.example.com/oauth2/token"
	// +required
	TokenURL string `json:"tokenURL"`

	// clientID is the name of the client at the token endpoint.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	ClientID string `json:"clientID"`

	// clientSecretRef names the Secret and the key in it that holds the client's secret. The Secret carries the label of
	// auth.bearer.secretRef; if it has the annotation trust.agentpeer.dev/allowed-origins, that list must name the origin of
	// tokenURL, where the secret goes, and the origin of the address, where the access token goes.
	// +required
	ClientSecretRef ClientSecretReference `json:"clientSecretRef"`

	// scopes to ask for. Unset: those that the token endpoint gives by itself.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	Scopes []string `json:"scopes,omitempty"`

	// audience to ask for, as some token endpoints want it. Unset: none is sent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Audience string `json:"audience,omitempty"`

	// clientAuthentication says how the client shows its secret to the token endpoint: Basic in the Authorization header, Post in the
	// body. Unset: Basic.
	// +kubebuilder:validation:Enum=Basic;Post
	// +optional
	ClientAuthentication ClientAuthentication `json:"clientAuthentication,omitempty"`
}

// ClientAuthentication is how an OAuth2 client shows its secret.
type ClientAuthentication string

// The ways of RFC 6749, section 2.3.1.
const (
	ClientAuthenticationBasic ClientAuthentication = "Basic"
	ClientAuthenticationPost  ClientAuthentication = "Post"
)

// ServiceAccountAuth sends a token of a ServiceAccount as "Authorization: Bearer TOKEN".
type ServiceAccountAuth struct {
	// name of a ServiceAccount in the namespace of this object. It carries the label and, if you like, the annotation of
	// auth.bearer.secretRef. Its token is short-lived, and its audience is the one of the operator's configuration, so that it is of no use
	// anywhere else; the operator must be allowed to create serviceaccounts/token in this namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="must be the name of a ServiceAccount in this namespace: lower-case letters, digits, - and ."
	// +required
	Name string `json:"name"`
}

// SecretReference names a Secret in the namespace of the object.
type SecretReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="must be the name of an object in this namespace: lower-case letters, digits, - and ."
	// +required
	Name string `json:"name"`
}

// ClientSecretReference names one key of a Secret in the namespace of the object.
type ClientSecretReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="must be the name of an object in this namespace: lower-case letters, digits, - and ."
	// +required
	Name string `json:"name"`

	// key in the Secret. Default "client-secret".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key: letters, digits, - _ and ."
	// +kubebuilder:default=client-secret
	// +optional
	Key string `json:"key,omitempty"`
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

	// clientCertificateRef names a Secret with the keys tls.crt and tls.key, as those of type kubernetes.io/tls have them: the certificate
	// that the operator shows to the origin of the address, and to no other. The Secret is under the conditions of
	// auth.bearer.secretRef. Unset: none is shown.
	// +optional
	ClientCertificateRef *SecretReference `json:"clientCertificateRef,omitempty"`

	// serverName is the name that the certificate of the address's origin must be for, where that is not the host of the address.
	// Unset: the host of the address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$')",message="must be a DNS name, such as planner.example.com"
	// +optional
	ServerName string `json:"serverName,omitempty"`

	// verifyCertificateSPKI pins the address's origin: one certificate of the verified chain must have a public key whose SHA-256,
	// in base64, is in this list. Name two, so that the key can be changed. Unset: any certificate that verifies will do. To get it:
	// openssl x509 -pubkey -noout -in tls.crt | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	VerifyCertificateSPKI []SPKIHash `json:"verifyCertificateSPKI,omitempty"`
}

// SPKIHash is the SHA-256 of a SubjectPublicKeyInfo in base64.
//
// +kubebuilder:validation:MaxLength=44
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9+/]{43}=$')",message="must be a SHA-256 in base64: 43 characters and ="
type SPKIHash string

// CAReference names one key of a ConfigMap or Secret in the namespace of the object.
type CAReference struct {
	// kind of the object that holds the certificates: ConfigMap or Secret.
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	// +required
	Kind ReferenceKind `json:"kind"`

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

// ReferenceKind is the kind of object that holds certificates or public keys.
type ReferenceKind string

// The kinds that can hold them.
const (
	ReferenceConfigMap ReferenceKind = "ConfigMap"
	ReferenceSecret    ReferenceKind = "Secret"
)
