package v1alpha1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

// peer makes an AgentPeer of a spec in YAML, without the Go types, as a user's file would.
func peer(t *testing.T, namespace, spec string) *unstructured.Unstructured {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatalf("reading spec %s: %v", spec, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "trust.agentpeer.dev/v1alpha1",
		"kind":       "AgentPeer",
		"spec":       fields,
	}}
	u.SetGenerateName("peer-")
	u.SetNamespace(namespace)
	return u
}

// pin is well-formed.
var pin = strings.Repeat("A", 43) + "="

func TestGoodObjectsAreAccepted(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	for name, spec := range map[string]string{
		"nothing but a url":                     `{url: "https://a.example"}`,
		"a path and a query":                    `{url: "https://a.example/agents/route?version=2"}`,
		"an IPv4 address and a port":            `{url: "http://10.0.0.1:8080/"}`,
		"an IPv6 address and a port":            `{url: "http://[2001:db8::1]:8080/"}`,
		"an IPv6 address without a port":        `{url: "http://[2001:db8::1]/"}`,
		"an @ in the path is no user name":      `{url: "https://a.example/@me"}`,
		"a scheme in capitals":                  `{url: "HTTPS://a.example"}`,
		"a Service and a named port":            `{serviceRef: {name: a, port: http}}`,
		"a Service and a port number":           `{serviceRef: {name: a, port: 8080}}`,
		"a Service, https and a path":           `{serviceRef: {name: a, port: 443, scheme: https, path: /agent}}`,
		"origins with and without a port":       `{url: "https://a.example", allowedOrigins: ["https://b.example", "http://c.example:8080"]}`,
		"an origin that is an address":          `{url: "https://a.example", allowedOrigins: ["https://[2001:db8::1]:8443"]}`,
		"a bearer token":                        `{url: "https://a.example", auth: {type: Bearer, bearer: {secretRef: {name: s, key: k}}}}`,
		"a bearer token under the usual key":    `{url: "https://a.example", auth: {type: Bearer, bearer: {secretRef: {name: s}}}}`,
		"a CA":                                  `{url: "https://a.example", tls: {caRef: {kind: ConfigMap, name: ca}}}`,
		"a key in a header":                     `{url: "https://a.example", auth: {type: Header, header: {name: X-API-Key, secretRef: {name: s}}}}`,
		"a key in the query":                    `{url: "https://a.example", auth: {type: Query, query: {name: api_key, secretRef: {name: s, key: k}}}}`,
		"a user name and a password":            `{url: "https://a.example", auth: {type: Basic, basic: {secretRef: {name: s}}}}`,
		"OAuth2 with the least":                 `{url: "https://a.example", auth: {type: OAuth2, oauth2: {tokenURL: "https://l.example/token", clientID: c, clientSecretRef: {name: s}}}}`,
		"OAuth2 with all":                       `{url: "https://a.example", auth: {type: OAuth2, oauth2: {tokenURL: "https://l.example:8443/t", clientID: "c d", clientSecretRef: {name: s, key: k}, scopes: [a, "https://b/.default"], audience: "https://x", clientAuthentication: Post}}}`,
		"a token URL that the operator allows":  `{url: "https://a.example", auth: {type: OAuth2, oauth2: {tokenURL: "http://l.example/token", clientID: c, clientSecretRef: {name: s}}}}`,
		"a ServiceAccount":                      `{url: "https://a.example", auth: {type: ServiceAccount, serviceAccount: {name: caller.v1}}}`,
		"a client certificate alone":            `{url: "https://a.example", tls: {clientCertificateRef: {name: s}}}`,
		"a certificate, a name and pins":        `{url: "https://a.example", auth: {type: Bearer, bearer: {secretRef: {name: s}}}, tls: {caRef: {kind: Secret, name: ca}, clientCertificateRef: {name: s}, serverName: b.example, verifyCertificateSPKI: ["` + pin + `", "` + strings.Repeat("B", 43) + `="]}}`,
		"signatures that are ignored":           `{url: "https://a.example", card: {verification: {policy: Ignore}}}`,
		"keys of a ConfigMap and of a Secret":   `{url: "https://a.example", card: {verification: {policy: Require, keys: [{kind: ConfigMap, name: k}, {kind: Secret, name: k, key: old.pem}]}}}`,
		"keys from a URL":                       `{url: "https://a.example", card: {path: /card, verification: {policy: Warn, jwksURL: "https://a.example/.well-known/jwks.json?v=1"}}}`,
		"keys that nothing is made of yet":      `{url: "https://a.example", card: {verification: {keys: [{kind: ConfigMap, name: k}]}}}`,
		"all the ways to write a duration":      `{url: "https://a.example", probes: {behavior: {interval: 1h30m0s, confirmInterval: 1.5s, taskTimeout: 90s, firstEventTimeout: 500ms, idleTimeout: 1.5s}}}`,
		"trust of exactly three intervals":      `{url: "https://a.example", probes: {behavior: {interval: 1h}}, trust: {duration: 3h}}`,
		"trust without an interval":             `{url: "https://a.example", trust: {duration: 1m}}`,
		"an interval without trust":             `{url: "https://a.example", probes: {behavior: {interval: 24h}}}`,
		"a budget of nothing":                   `{url: "https://a.example", probes: {behavior: {maxTasksPerDay: 0}}}`,
		"a text, a data and a raw part":         `{url: "https://a.example", probes: {message: {parts: [{text: hi}, {data: {a: [1, {b: null}]}}, {raw: aGk=}]}}}`,
		"an empty data part":                    `{url: "https://a.example", probes: {message: {parts: [{data: {}}]}}}`,
		"metadata, as the founding incident":    `{url: "https://a.example", probes: {message: {parts: [{text: hi}], metadata: {tenant: x, "https://ext.example/v1": ""}}}}`,
		"a sample of an input mode":             `{url: "https://a.example", probes: {fixtures: {inputModes: [{mediaType: model/gltf+json, message: {parts: [{raw: e30=, mediaType: model/gltf+json}]}}, {mediaType: text/plain, message: {parts: [{text: a}]}}, {mediaType: application/json, message: {parts: [{data: {a: 1}}]}}]}}}`,
		"both fixtures":                         `{url: "https://a.example", probes: {fixtures: {longRunning: {message: {parts: [{text: a}]}}, inputRequired: {message: {parts: [{text: a}]}, reply: {parts: [{text: b}]}}}}}`,
		"every capability that can be required": `{url: "https://a.example", requiredCapabilities: [Streaming, PushNotifications, ExtendedAgentCard, TaskRetrieval, Cancellation, Continuation, Resubscription, InputModes, Lifecycle]}`,
		"tasks told apart by their ids":         `{url: "https://a.example", taskIdentity: {source: TaskID}}`,
		"tasks told apart by metadata":          `{url: "https://a.example", taskIdentity: {source: Metadata, key: "https://ext.example/v1"}}`,
		"tasks told apart by a header":          `{url: "https://a.example", taskIdentity: {source: Header, key: X-Correlation-Id}}`,
		"empty groups":                          `{url: "https://a.example", card: {}, interface: {}, tls: {}, probes: {reachability: {}, behavior: {}, fixtures: {}}, trust: {demoteAfter: {}, demotion: {}}, deadlines: {}, allowedOrigins: [], requiredCapabilities: []}`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := server.Client.Create(t.Context(), peer(t, namespace, spec), client.DryRunAll); err != nil {
				t.Errorf("creating: %v", err)
			}
		})
	}
}

func TestABadDurationIsRefusedInWordsThatOneReads(t *testing.T) {
	server := apiserver.For(t)
	bad := peer(t, server.Namespace(t), `{url: "https://a.example", trust: {duration: 1d}}`)

	err := server.Client.Create(t.Context(), bad, client.DryRunAll)

	if err == nil || !strings.Contains(err.Error(), "written like 3h or 1h30m") || len(err.Error()) > 300 {
		t.Errorf("refused with %v, want it said in 300 characters how to write a duration", err)
	}
}

// TestSecurityAdmissionHostsAreWrittenInPlainLetters: a zone of IPv6, which no dial heeds, would end an address in the name of a host
// that is allowed.
func TestSecurityAdmissionHostsAreWrittenInPlainLetters(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	for _, host := range []string{"[2606:4700:4700::1112%25x.agents.example.com]", "[2606:4700:4700::1112%25.agents.example.com]:8443",
		"[::ffff:1.2.3.4%25x.agents.example.com]", "evil.example.net%2eagents.example.com", "evil.example.net%E3%80%82agents.example.com"} {
		for field, spec := range map[string]string{
			"spec.url":                       `{url: "https://` + host + `/"}`,
			"spec.allowedOrigins[0]":         `{url: "https://a.example", allowedOrigins: ["https://` + host + `"]}`,
			"spec.auth.oauth2.tokenURL":      `{url: "https://a.example", auth: {type: OAuth2, oauth2: {clientID: c, clientSecretRef: {name: s}, tokenURL: "https://` + host + `/"}}}`,
			"spec.card.verification.jwksURL": `{url: "https://a.example", card: {verification: {policy: Warn, jwksURL: "https://` + host + `/"}}}`,
		} {
			err := server.Client.Create(t.Context(), peer(t, namespace, spec))
			if err == nil || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "an IPv6 address without a zone") {
				t.Errorf("%s with %s: %v, want it refused with words that say what to write", field, host, err)
			}
		}
	}
	if err := server.Client.Create(t.Context(), peer(t, namespace, `{url: "https://a.example/a%20b?c=%2f"}`)); err != nil {
		t.Errorf("a %% behind the host: %v, want it allowed", err)
	}
}

func TestBadObjectsAreRefusedWithAMessageThatSaysHowToMendThem(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	const secret = `secretRef: {name: s, key: k}`
	header := func(name string) string {
		return `{url: "https://a.example", auth: {type: Header, header: {name: ` + name + `, ` + secret + `}}}`
	}
	oauth := func(fields string) string {
		return `{url: "https://a.example", auth: {type: OAuth2, oauth2: {clientID: c, clientSecretRef: {name: s}, ` + fields + `}}}`
	}
	for name, c := range map[string]struct{ spec, field, says string }{
		"no endpoint":   {`{}`, "spec", "set exactly one of url and serviceRef"},
		"two endpoints": {`{url: "https://a.example", serviceRef: {name: a, port: http}}`, "spec", "set exactly one of url and serviceRef"},

		"a url without a scheme":       {`{url: "planner.example.com"}`, "spec.url", "must be an absolute http or https URL with a host"},
		"a url of another scheme":      {`{url: "ftp://a.example"}`, "spec.url", "must be an absolute http or https URL with a host"},
		"a file":                       {`{url: "file:///etc/passwd"}`, "spec.url", "must be an absolute http or https URL with a host"},
		"a url without a host":         {`{url: "https:///agents"}`, "spec.url", "must be an absolute http or https URL with a host"},
		"a url with a port only":       {`{url: "http://:8080/"}`, "spec.url", "must be an absolute http or https URL with a host"},
		"a url with a user name":       {`{url: "https://user@a.example/"}`, "spec.url", "put credentials into a Secret"},
		"a url with a password":        {`{url: "https://user:secret@a.example/"}`, "spec.url", "put credentials into a Secret"},
		"a url with a fragment":        {`{url: "https://a.example/#top"}`, "spec.url", "remove everything from the # on"},
		"a url with an empty fragment": {`{url: "https://a.example/#"}`, "spec.url", "remove everything from the # on"},
		"a url with a space":           {`{url: "https://a.example/a b"}`, "spec.url", "percent-encode"},
		"a url with a line break":      {`{url: "https://a.example/a\nb"}`, "spec.url", "percent-encode"},
		"a url with port 0":            {`{url: "https://a.example:0/"}`, "spec.url", "port must be a number from 1 to 65535"},
		"a url with port 70000":        {`{url: "https://a.example:70000/"}`, "spec.url", "port must be a number from 1 to 65535"},
		"a url with a port in words":   {`{url: "https://a.example:http/"}`, "spec.url", "must be an absolute http or https URL"},
		"a url that is too long":       {`{url: "https://a.example/` + strings.Repeat("a", 2048) + `"}`, "spec.url", "2048"},

		"an id with a key":           {`{url: "https://a.example", taskIdentity: {source: TaskID, key: id}}`, "spec.taskIdentity.key", "needs no key"},
		"metadata without a key":     {`{url: "https://a.example", taskIdentity: {source: Metadata}}`, "spec.taskIdentity.key", "need a key"},
		"a header without a key":     {`{url: "https://a.example", taskIdentity: {source: Header}}`, "spec.taskIdentity.key", "need a key"},
		"a header that is none":      {`{url: "https://a.example", taskIdentity: {source: Header, key: "a:b"}}`, "spec.taskIdentity.key", "name of a header"},
		"a key with spaces":          {`{url: "https://a.example", taskIdentity: {source: Metadata, key: "a b"}}`, "spec.taskIdentity.key", "letters, digits"},
		"another source of identity": {`{url: "https://a.example", taskIdentity: {source: Body, key: a}}`, "spec.taskIdentity.source", "Unsupported value"},
		"identity without a source":  {`{url: "https://a.example", taskIdentity: {key: a}}`, "spec.taskIdentity.source", "Required"},

		"a Service without a port":        {`{serviceRef: {name: a}}`, "spec.serviceRef.port", "Required"},
		"a Service without a name":        {`{serviceRef: {port: http}}`, "spec.serviceRef.name", "Required"},
		"a Service of another namespace":  {`{serviceRef: {name: other/a, port: http}}`, "spec.serviceRef.name", "name of a Service in this namespace"},
		"port 0 of a Service":             {`{serviceRef: {name: a, port: 0}}`, "spec.serviceRef.port", "number from 1 to 65535"},
		"port 65536 of a Service":         {`{serviceRef: {name: a, port: 65536}}`, "spec.serviceRef.port", "number from 1 to 65535"},
		"half a port of a Service":        {`{serviceRef: {name: a, port: 80.5}}`, "spec.serviceRef.port", ""},
		"a port name that is none":        {`{serviceRef: {name: a, port: HTTP_1}}`, "spec.serviceRef.port", "name of a port of the Service"},
		"an empty port name":              {`{serviceRef: {name: a, port: ""}}`, "spec.serviceRef.port", "name of a port of the Service"},
		"a relative path of a Service":    {`{serviceRef: {name: a, port: http, path: agent}}`, "spec.serviceRef.path", "must be an absolute path"},
		"another scheme of a Service":     {`{serviceRef: {name: a, port: http, scheme: grpc}}`, "spec.serviceRef.scheme", `"http", "https"`},
		"a path that is an authority":     {`{serviceRef: {name: a, port: http, path: //evil.example/}}`, "spec.serviceRef.path", "must be an absolute path"},
		"a card's path without a slash":   {`{url: "https://a.example", card: {path: v1/card}}`, "spec.card.path", "such as /v1/card"},
		"a card's path with a query":      {`{url: "https://a.example", card: {path: "/card?x=1"}}`, "spec.card.path", "without query or fragment"},
		"a card's path with a fragment":   {`{url: "https://a.example", card: {path: "/card#x"}}`, "spec.card.path", "without query or fragment"},
		"a card's path that is a url":     {`{url: "https://a.example", card: {path: "https://b.example/card"}}`, "spec.card.path", "must be an absolute path"},
		"a card's path with bad encoding": {`{url: "https://a.example", card: {path: "/%zz"}}`, "spec.card.path", "must be an absolute path"},

		"an origin with a path":        {`{url: "https://a.example", allowedOrigins: ["https://b.example/x"]}`, "spec.allowedOrigins[0]", "scheme://host[:port] and nothing after it"},
		"an origin with a slash":       {`{url: "https://a.example", allowedOrigins: ["https://b.example/"]}`, "spec.allowedOrigins[0]", "nothing after it"},
		"an origin without a scheme":   {`{url: "https://a.example", allowedOrigins: ["b.example:443"]}`, "spec.allowedOrigins[0]", "scheme://host[:port]"},
		"an origin with a user name":   {`{url: "https://a.example", allowedOrigins: ["https://me@b.example"]}`, "spec.allowedOrigins[0]", "scheme://host[:port]"},
		"an origin that is a wildcard": {`{url: "https://a.example", allowedOrigins: ["*"]}`, "spec.allowedOrigins[0]", ""},
		"an origin twice":              {`{url: "https://a.example", allowedOrigins: ["https://b.example", "https://b.example"]}`, "spec.allowedOrigins[1]", "Duplicate"},
		"an origin with port 70000":    {`{url: "https://a.example", allowedOrigins: ["https://b.example:70000"]}`, "spec.allowedOrigins[0]", "scheme://host[:port]"},

		"a binding that is not spoken": {`{url: "https://a.example", interface: {binding: SOAP}}`, "spec.interface.binding", `"JSONRPC", "HTTP+JSON", "GRPC"`},
		"a version that is a number":   {`{url: "https://a.example", interface: {protocolVersion: 1.0}}`, "spec.interface.protocolVersion", "must be of type string"},
		"a version that is none":       {`{url: "https://a.example", interface: {protocolVersion: v1}}`, "spec.interface.protocolVersion", `such as "1.0"`},
		"another source of the url":    {`{url: "https://a.example", interface: {urlFrom: Elsewhere}}`, "spec.interface.urlFrom", `"Card", "Endpoint"`},

		"auth without a type":          {`{url: "https://a.example", auth: {bearer: {` + secret + `}}}`, "spec.auth.type", "Required"},
		"auth of an unknown type":      {`{url: "https://a.example", auth: {type: Magic, bearer: {` + secret + `}}}`, "spec.auth.type", `"Bearer"`},
		"auth without its member":      {`{url: "https://a.example", auth: {type: Bearer}}`, "spec.auth", "type Bearer needs the member bearer"},
		"a Secret without a name":      {`{url: "https://a.example", auth: {type: Bearer, bearer: {secretRef: {key: k}}}}`, "spec.auth.bearer.secretRef.name", "Required"},
		"a Secret of elsewhere":        {`{url: "https://a.example", auth: {type: Bearer, bearer: {secretRef: {name: ../s, key: k}}}}`, "spec.auth.bearer.secretRef.name", "name of an object in this namespace"},
		"auth with another's member":   {`{url: "https://a.example", auth: {type: Bearer, header: {name: X-API-Key, secretRef: {name: s}}}}`, "spec.auth", "type Bearer needs the member bearer"},
		"auth with two members":        {`{url: "https://a.example", auth: {type: Bearer, bearer: {` + secret + `}, basic: {secretRef: {name: s}}}}`, "spec.auth", "type Basic needs the member basic, and no other"},
		"a header without its member":  {`{url: "https://a.example", auth: {type: Header}}`, "spec.auth", "set auth.header.name and auth.header.secretRef"},
		"a query without its member":   {`{url: "https://a.example", auth: {type: Query}}`, "spec.auth", "set auth.query.name and auth.query.secretRef"},
		"Basic without its member":     {`{url: "https://a.example", auth: {type: Basic}}`, "spec.auth", "set auth.basic.secretRef"},
		"OAuth2 without its member":    {`{url: "https://a.example", auth: {type: OAuth2}}`, "spec.auth", "set auth.oauth2.tokenURL, clientID and clientSecretRef"},
		"an account without a name":    {`{url: "https://a.example", auth: {type: ServiceAccount}}`, "spec.auth", "set auth.serviceAccount.name"},
		"a header of HTTP":             {header("Content-Type"), "spec.auth.header.name", "belongs to HTTP or to the protocol"},
		"a header of HTTP, in small":   {header("host"), "spec.auth.header.name", "belongs to HTTP or to the protocol"},
		"a header of the protocol":     {header("A2A-Version"), "spec.auth.header.name", "belongs to HTTP or to the protocol"},
		"a header with a line end":     {header(`"X\r\nHost: b"`), "spec.auth.header.name", "must be the name of a header"},
		"a header with a colon":        {header(`"X:"`), "spec.auth.header.name", "must be the name of a header"},
		"a parameter with a =":         {`{url: "https://a.example", auth: {type: Query, query: {name: "a=b&c", ` + secret + `}}}`, "spec.auth.query.name", "must be the name of a query parameter"},
		"a user name beside a Secret":  {`{url: "https://a.example", auth: {type: Basic, basic: {secretRef: {name: ../s}}}}`, "spec.auth.basic.secretRef.name", "name of an object in this namespace"},
		"a token URL with a user":      {oauth(`tokenURL: "https://me@l.example/token"`), "spec.auth.oauth2.tokenURL", "without user name, query or fragment"},
		"a token URL with a query":     {oauth(`tokenURL: "https://l.example/token?x=1"`), "spec.auth.oauth2.tokenURL", "without user name, query or fragment"},
		"a token URL without a host":   {oauth(`tokenURL: "https:///token"`), "spec.auth.oauth2.tokenURL", "absolute https URL"},
		"a token URL that is a file":   {oauth(`tokenURL: "file:///etc/token"`), "spec.auth.oauth2.tokenURL", "absolute https URL"},
		"OAuth2 without a client":      {`{url: "https://a.example", auth: {type: OAuth2, oauth2: {tokenURL: "https://l.example/t", clientSecretRef: {name: s}}}}`, "spec.auth.oauth2.clientID", "Required"},
		"OAuth2 without a Secret":      {`{url: "https://a.example", auth: {type: OAuth2, oauth2: {tokenURL: "https://l.example/t", clientID: c}}}`, "spec.auth.oauth2.clientSecretRef", "Required"},
		"a secret in a third place":    {oauth(`tokenURL: "https://l.example/token", clientAuthentication: Query`), "spec.auth.oauth2.clientAuthentication", `"Basic", "Post"`},
		"a scope twice":                {oauth(`tokenURL: "https://l.example/token", scopes: [a, a]`), "spec.auth.oauth2.scopes[1]", "Duplicate"},
		"an account of elsewhere":      {`{url: "https://a.example", auth: {type: ServiceAccount, serviceAccount: {name: kube-system/default}}}`, "spec.auth.serviceAccount.name", "name of a ServiceAccount in this namespace"},
		"a certificate of elsewhere":   {`{url: "https://a.example", tls: {clientCertificateRef: {name: a/b}}}`, "spec.tls.clientCertificateRef.name", "name of an object in this namespace"},
		"a server name that is a URL":  {`{url: "https://a.example", tls: {serverName: "https://b.example"}}`, "spec.tls.serverName", "must be a DNS name"},
		"a pin in hexadecimal":         {`{url: "https://a.example", tls: {verifyCertificateSPKI: ["` + strings.Repeat("ab", 22) + `"]}}`, "spec.tls.verifyCertificateSPKI[0]", "must be a SHA-256 in base64"},
		"a pin with its kind":          {`{url: "https://a.example", tls: {verifyCertificateSPKI: ["sha256/` + strings.Repeat("a", 37) + `"]}}`, "spec.tls.verifyCertificateSPKI[0]", "must be a SHA-256 in base64"},
		"a pin twice":                  {`{url: "https://a.example", tls: {verifyCertificateSPKI: ["` + pin + `", "` + pin + `"]}}`, "spec.tls.verifyCertificateSPKI[1]", "Duplicate"},
		"no pin at all":                {`{url: "https://a.example", tls: {verifyCertificateSPKI: []}}`, "spec.tls.verifyCertificateSPKI", "at least 1"},
		"signatures without a key":     {`{url: "https://a.example", card: {verification: {policy: Require}}}`, "spec.card.verification", "name a ConfigMap or Secret in keys, or set jwksURL"},
		"a policy that isn't":          {`{url: "https://a.example", card: {verification: {policy: Trust, keys: [{kind: ConfigMap, name: k}]}}}`, "spec.card.verification.policy", `"Ignore", "Warn", "Require"`},
		"keys of another kind":         {`{url: "https://a.example", card: {verification: {policy: Warn, keys: [{kind: Pod, name: k}]}}}`, "spec.card.verification.keys[0].kind", `"ConfigMap", "Secret"`},
		"five documents of keys":       {`{url: "https://a.example", card: {verification: {policy: Warn, keys: [` + strings.Repeat("{kind: ConfigMap, name: k},", 5) + `]}}}`, "spec.card.verification.keys", "at most 4"},
		"keys from an http URL":        {`{url: "https://a.example", card: {verification: {policy: Warn, jwksURL: "http://a.example/jwks"}}}`, "spec.card.verification.jwksURL", "must be an absolute https URL"},
		"keys from a URL with a user":  {`{url: "https://a.example", card: {verification: {policy: Warn, jwksURL: "https://me:pw@a.example/jwks"}}}`, "spec.card.verification.jwksURL", "without user name or fragment"},
		"a CA of another kind":         {`{url: "https://a.example", tls: {caRef: {kind: Pod, name: ca}}}`, "spec.tls.caRef.kind", `"ConfigMap", "Secret"`},
		"a mode of probing that isn't": {`{url: "https://a.example", probes: {reachability: {mode: Ping}}}`, "spec.probes.reachability.mode", `"Card", "CardAndTask", "None"`},

		"a duration that is a number":      {`{url: "https://a.example", probes: {behavior: {interval: 60}}}`, "spec.probes.behavior.interval", "must be of type string"},
		"a duration without a unit":        {`{url: "https://a.example", probes: {behavior: {interval: "60"}}}`, "spec.probes.behavior.interval", "must be from 1ms to 168h, written like 1h"},
		"a duration of an unknown unit":    {`{url: "https://a.example", probes: {behavior: {interval: 1d}}}`, "spec.probes.behavior.interval", "must be from 1ms to 168h, written like 1h"},
		"a duration that repeats its unit": {`{url: "https://a.example", probes: {behavior: {interval: 1h1h}}}`, "spec.probes.behavior.interval", "must be from 1ms to 168h, written like 1h"},
		"a negative duration":              {`{url: "https://a.example", probes: {behavior: {interval: -1h}}}`, "spec.probes.behavior.interval", "must be from 1ms to 168h, written like 1h"},
		"a duration beyond int64":          {`{url: "https://a.example", probes: {behavior: {interval: 9999999999h}}}`, "spec.probes.behavior.interval", "must be from 1ms to 168h, written like 1h"},
		"a duration of nothing":            {`{url: "https://a.example", probes: {behavior: {interval: 0s}}}`, "spec.probes.behavior.interval", "must be from 1ms to 168h, written like 1h"},
		"a duration of a year":             {`{url: "https://a.example", probes: {behavior: {interval: 8760h}}}`, "spec.probes.behavior.interval", "must be from 1ms to 168h, written like 1h"},
		"an empty duration":                {`{url: "https://a.example", probes: {behavior: {interval: ""}}}`, "spec.probes.behavior.interval", "must be from 1ms"},

		"a confirmation after the next round": {`{url: "https://a.example", probes: {behavior: {interval: 1m, confirmInterval: 2m}}}`, "spec.probes.behavior.confirmInterval", "must not be longer than interval"},
		"a first event after the task":        {`{url: "https://a.example", probes: {behavior: {taskTimeout: 10s, firstEventTimeout: 20s}}}`, "spec.probes.behavior.firstEventTimeout", "raise taskTimeout or shorten firstEventTimeout"},
		"a silence longer than the task":      {`{url: "https://a.example", probes: {behavior: {taskTimeout: 10s, idleTimeout: 20s}}}`, "spec.probes.behavior.idleTimeout", "raise taskTimeout or shorten idleTimeout"},
		"a negative budget":                   {`{url: "https://a.example", probes: {behavior: {maxTasksPerDay: -1}}}`, "spec.probes.behavior.maxTasksPerDay", "greater than or equal to 0"},
		"a budget beyond int32":               {`{url: "https://a.example", probes: {behavior: {maxTasksPerDay: 3000000000}}}`, "spec.probes.behavior.maxTasksPerDay", "less than or equal to 100000"},

		"a message without parts":       {`{url: "https://a.example", probes: {message: {parts: []}}}`, "spec.probes.message.parts", "at least 1"},
		"a message of nine parts":       {`{url: "https://a.example", probes: {message: {parts: [` + strings.Repeat("{text: a},", 9) + `]}}}`, "spec.probes.message.parts", "must have at most 8 items"},
		"a part of nothing":             {`{url: "https://a.example", probes: {message: {parts: [{}]}}}`, "spec.probes.message.parts[0]", "set exactly one of text, data and raw"},
		"a part of two kinds":           {`{url: "https://a.example", probes: {message: {parts: [{text: a, raw: aGk=}]}}}`, "spec.probes.message.parts[0]", "set exactly one of text, data and raw"},
		"raw bytes that are not base64": {`{url: "https://a.example", probes: {message: {parts: [{raw: "aGk"}]}}}`, "spec.probes.message.parts[0].raw", ""},
		"data that is a list":           {`{url: "https://a.example", probes: {message: {parts: [{data: [1]}]}}}`, "spec.probes.message.parts[0].data", "must be of type object"},
		"a media type that is none":     {`{url: "https://a.example", probes: {message: {parts: [{text: a, mediaType: text}]}}}`, "spec.probes.message.parts[0].mediaType", "such as image/png"},
		"a text that is too long":       {`{url: "https://a.example", probes: {message: {parts: [{text: ` + strings.Repeat("a", 8193) + `}]}}}`, "spec.probes.message.parts[0].text", "8192"},
		"a metadata value that is a number": {`{url: "https://a.example", probes: {message: {parts: [{text: a}], metadata: {tenant: 1}}}}`,
			"spec.probes.message.metadata.tenant", "must be of type string"},
		"a metadata key with a space": {`{url: "https://a.example", probes: {message: {parts: [{text: a}], metadata: {"a b": x}}}}`,
			"spec.probes.message.metadata", "keys have 1 to 63 characters"},
		"a question without a reply": {`{url: "https://a.example", probes: {fixtures: {inputRequired: {message: {parts: [{text: a}]}}}}}`,
			"spec.probes.fixtures.inputRequired.reply", "Required"},
		"a sample of another media type": {`{url: "https://a.example", probes: {fixtures: {inputModes: [{mediaType: image/png, message: {parts: [{text: a}]}}]}}}`,
			"spec.probes.fixtures.inputModes[0].message", "message must have a part of this mediaType: set mediaType in the part"},
		"a sample of no media type": {`{url: "https://a.example", probes: {fixtures: {inputModes: [{mediaType: "Text/Plain; a=b", message: {parts: [{text: a}]}}]}}}`,
			"spec.probes.fixtures.inputModes[0].mediaType", "must be a media type in lower case without parameters, such as image/png"},
		"a long task without a message": {`{url: "https://a.example", probes: {fixtures: {longRunning: {}}}}`, "spec.probes.fixtures.longRunning.message", "Required"},

		"trust that lapses between probes":   {`{url: "https://a.example", probes: {behavior: {interval: 1h}}, trust: {duration: 2h59m}}`, "spec.trust.duration", "raise trust.duration or shorten probes.behavior.interval"},
		"a mode of trust that isn't":         {`{url: "https://a.example", trust: {mode: Dream}}`, "spec.trust.mode", `"Enforce", "Observe"`},
		"one contradiction to demote":        {`{url: "https://a.example", trust: {demoteAfter: {diverged: 1}}}`, "spec.trust.demoteAfter.diverged", "greater than or equal to 2"},
		"more contradictions than rounds":    {`{url: "https://a.example", trust: {demoteAfter: {diverged: 4, ofLast: 3}}}`, "spec.trust.demoteAfter.diverged", "lower diverged or raise ofLast"},
		"a window that is not remembered":    {`{url: "https://a.example", trust: {demoteAfter: {ofLast: 11}}}`, "spec.trust.demoteAfter.ofLast", "less than or equal to 10"},
		"a restoration after nothing":        {`{url: "https://a.example", trust: {restoreAfter: 0}}`, "spec.trust.restoreAfter", "greater than or equal to 1"},
		"a least demotion above the most":    {`{url: "https://a.example", trust: {demotion: {minDuration: 7h, maxDuration: 6h}}}`, "spec.trust.demotion.minDuration", "lower minDuration or raise maxDuration"},
		"a wait beyond the hard deadline":    {`{url: "https://a.example", deadlines: {wait: 10m, hard: 5m}}`, "spec.deadlines.wait", "lower wait or raise hard"},
		"a requirement that nobody knows":    {`{url: "https://a.example", requiredCapabilities: [Telepathy]}`, "spec.requiredCapabilities[0]", `"Streaming"`},
		"a requirement that cannot be shown": {`{url: "https://a.example", requiredCapabilities: [StateTransitionHistory]}`, "spec.requiredCapabilities[0]", "Unsupported value"},
		"a requirement twice":                {`{url: "https://a.example", requiredCapabilities: [Streaming, Streaming]}`, "spec.requiredCapabilities[1]", "Duplicate"},
		"suspend in words":                   {`{url: "https://a.example", suspend: "true"}`, "spec.suspend", "must be of type boolean"},
	} {
		t.Run(name, func(t *testing.T) {
			err := server.Client.Create(t.Context(), peer(t, namespace, c.spec), client.DryRunAll)
			if err == nil {
				t.Fatalf("creating %s: accepted, want a refusal at %s", c.spec, c.field)
			}
			for _, want := range []string{c.field + ":", c.says} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("creating %.200s:\n%v\ndoes not say %q", c.spec, err, want)
				}
			}
		})
	}
}
