package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
)

// clientPair is a client certificate and its key in PEM, and what of the key nobody may see.
func clientPair(t *testing.T) (pair map[string]string, word string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(5), Subject: pkix.Name{CommonName: "us"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		corev1.TLSCertKey:       string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		corev1.TLSPrivateKeyKey: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}, string(scalar)
}

// gatehouse serves an agent over TLS that wants a certificate and a token, says the token back, and has a set of keys.
type gatehouse struct {
	*httptest.Server
	mu sync.Mutex
	// tokens that it was shown; keys is how often its set of keys was fetched, with that many credentials.
	tokens                   map[string]bool
	certificates, keys, with int
}

func openGatehouse(t *testing.T) *gatehouse {
	t.Helper()
	a, g := agent.New(), &gatehouse{tokens: map[string]bool{}}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, shown := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		g.mu.Lock()
		if r.URL.Path == "/jwks" {
			g.keys++
			if shown || len(r.TLS.PeerCertificates) > 0 {
				g.with++
			}
			g.mu.Unlock()
			http.Error(w, "none today", http.StatusServiceUnavailable)
			return
		}
		if shown {
			g.tokens[token] = true
		}
		g.certificates += len(r.TLS.PeerCertificates)
		g.mu.Unlock()
		w.Header().Set("X-Echo", token)
		quoted, _ := json.Marshal(token)
		echo := strings.NewReplacer(`"name":"`, `"name":"`+strings.Trim(string(quoted), `"`)+" ", `"text":"`, `"text":"`+strings.Trim(string(quoted), `"`)+" ")
		a.Handler().ServeHTTP(painter{w, echo}, r)
	}))
	g.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	g.StartTLS()
	a.SetURL(g.URL)
	t.Cleanup(func() { a.Close(); g.CloseClientConnections(); g.Close() })
	return g
}

// accountsConfig is the operator's configuration with tokens of ServiceAccounts allowed.
func accountsConfig(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "operator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "operator.yaml")
	raw = append(raw, "\nserviceAccountTokens:\n  audience: https://agents.example.com\n"...)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// accountRole lets the operator make tokens of the one ServiceAccount, as an administrator would.
const accountRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: caller-token, namespace: %[1]q}
rules:
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [caller], verbs: [get]}
- {apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [caller], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: caller-token, namespace: %[1]q}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: caller-token}
subjects:
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts"}
`

func TestSecurityLeaksOfKeysAndOfTokensOfServiceAccounts(t *testing.T) {
	t.Parallel()
	w := enter(t)
	namespace := w.Namespace(t)
	seen := w.record(t, namespace)
	g := openGatehouse(t)
	pair, key := clientPair(t)
	may := map[string]string{v1alpha1.SendToPeersLabel: v1alpha1.SendToPeersValue}
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw}))
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pair", Labels: may}, StringData: pair},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "authority"}, Data: map[string]string{"ca.crt": authority}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "caller", Labels: may}},
	} {
		if err := w.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.Kubectl(t, fmt.Sprintf(accountRole, namespace), "apply", "--server-side", "-f", "-")
	w.apply(t, namespace, peer{name: "gatehouse", url: g.URL, more: "  auth: {type: ServiceAccount, serviceAccount: {name: caller}}\n" +
		"  tls: {caRef: {kind: ConfigMap, name: authority}, clientCertificateRef: {name: pair}}\n" +
		"  card: {verification: {policy: Warn, jwksURL: '" + g.URL + "/jwks'}}\n"})
	o := w.startOperator(t, w.kubeconfig(t, w.Config.Host), namespace, "--zap-log-level", "10", "--zap-devel", "--config", accountsConfig(t))
	w.becomes(t, namespace, "gatehouse", verdict("Streaming"), "Trusted", "Streaming")
	gomega.NewWithT(t).Eventually(func() int64 { return behaviors(w.get(t, namespace, "gatehouse")) }, within, often).Should(gomega.BeNumerically(">", 0))

	g.mu.Lock()
	defer g.mu.Unlock()
	words := map[string]string{"the client's key": key, "the client's key in PEM": strings.Split(pair[corev1.TLSPrivateKeyKey], "\n")[1]}
	for token := range g.tokens {
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			t.Fatal("a token of a ServiceAccount has no three parts")
		}
		words["the token"] = token
		words["the token's signature"] = parts[2]
	}
	if len(g.tokens) == 0 || g.certificates == 0 {
		t.Errorf("%d tokens and %d certificates came, so this test shows nothing", len(g.tokens), g.certificates)
	}
	if g.with > 0 {
		t.Errorf("of %d requests for the set of keys, %d carried a credential", g.keys, g.with)
	}
	h := newHunt(words)
	h.inCluster(t, w, seen, namespace)
	for line := range strings.Lines(o.log.String()) {
		h.in("the log", line)
	}
	h.report(t)
}
