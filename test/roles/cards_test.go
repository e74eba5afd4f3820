package roles

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/roles/process"
)

// TestSecurityCardsAreServedByTheOperatorWithItsOwnRights runs the operator as config/default does, and reads a card that it judged itself, by
// TLS with a certificate that is replaced meanwhile.
func TestSecurityCardsAreServedByTheOperatorWithItsOwnRights(t *testing.T) {
	w := enter(t)
	namespace := w.Namespace(t)
	a := agent.New()
	honest := peer(namespace, "planner")
	honest.Spec.URL = a.Start(t)
	w.create(t, honest,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orchestrator"}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orchestrator"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "agentpeer-orchestrator"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "orchestrator"}}})
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{v1alpha1.CardAudience}, ExpirationSeconds: ptr.To[int64](3600)}}
	if err := w.Client.SubResource("token").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orchestrator"}}, request); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	roots := certificate(t, folder)
	cards := free(t)
	process.Start(t, w.Server, w.token(t, operatorNamespace, operatorAccount), "--watch-namespaces="+namespace, "--health-probe-bind-address=0",
		"--allow-cidrs=127.0.0.0/8", "--allow-http-hosts=127.0.0.1", "--card-bind-address="+cards, "--card-cert-dir="+folder)

	get := func(path, token string, roots *x509.CertPool) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+cards+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		c := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
		response, err := c.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return 0, err.Error()
		}
		return response.StatusCode, string(body)
	}
	at := "/peers/" + namespace + "/planner/.well-known/agent-card.json"
	g := gomega.NewWithT(t)
	g.Eventually(func() string { _, body := get(at, request.Status.Token, roots); return body }, "90s", "200ms").Should(gomega.ContainSubstring(`"streaming":true`))
	for name, c := range map[string]struct {
		path, token string
		want        int
	}{
		"without a token":                      {at, "", http.StatusUnauthorized},
		"with a token of the API server":       {at, w.token(t, namespace, "orchestrator"), http.StatusUnauthorized},
		"with the operator's own":              {at, w.token(t, operatorNamespace, operatorAccount), http.StatusUnauthorized},
		"of another namespace":                 {"/peers/default/planner/.well-known/agent-card.json", request.Status.Token, http.StatusForbidden},
		"the list":                             {"/peers/" + namespace, request.Status.Token, http.StatusOK},
		"what is served elsewhere: metrics":    {"/metrics", request.Status.Token, http.StatusNotFound},
		"what is served elsewhere: profiles":   {"/debug/pprof/", request.Status.Token, http.StatusNotFound},
		"a path that climbs out of its peer":   {at + "/../../../secrets", request.Status.Token, http.StatusNotFound},
		"a name that is written in percents %": {"/peers/" + namespace + "%2Fplanner/.well-known/agent-card.json", request.Status.Token, http.StatusNotFound},
	} {
		if got, body := get(c.path, c.token, roots); got != c.want {
			t.Errorf("%s: status %d %s, want %d", name, got, body, c.want)
		}
	}
	plain, err := http.Get("http://" + cards + at)
	if err != nil {
		t.Fatal(err)
	}
	_ = plain.Body.Close()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("in plain text: %d", plain.StatusCode)
	}
	next := certificate(t, folder)
	g.Eventually(func() int { code, _ := get(at, request.Status.Token, next); return code }, "30s", "200ms").Should(gomega.Equal(http.StatusOK))
	if code, said := get(at, request.Status.Token, roots); code != 0 || !strings.Contains(said, "certificate") {
		t.Errorf("after the certificate was replaced, by the old one: %d %s", code, said)
	}
}

// certificate puts one into a folder, and yields what verifies it.
func certificate(t *testing.T, folder string) *x509.CertPool {
	t.Helper()
	crt, key, err := cert.GenerateSelfSignedCertKeyWithFixtures("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.key": key, "tls.crt": crt} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(crt) {
		t.Fatal("no certificate")
	}
	return roots
}
