package roles

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentpeer/agentpeer/test/ports"
	"github.com/agentpeer/agentpeer/test/roles/process"
)

// TestSecurityMetricsAreForThoseWhoMayReadThem runs the operator with its own token and asks for its metrics as others do.
func TestSecurityMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	w := enter(t)
	namespace := w.Namespace(t)
	for _, name := range []string{"scraper", "nobody"} {
		w.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	w.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-scraper"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "agentpeer-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "scraper"}},
	})
	metrics, health := free(t), free(t)
	process.Start(t, w.Server, w.token(t, operatorNamespace, operatorAccount), "--watch-namespaces="+namespace,
		"--metrics-bind-address="+metrics, "--health-probe-bind-address="+health)

	answers := func(url, token string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		// The certificate is made at the start, by the operator itself.
		c := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		response, err := c.Do(request)
		if err != nil {
			return 0
		}
		defer func() { _ = response.Body.Close() }()
		_, _ = io.Copy(io.Discard, response.Body) // only the status matters
		return response.StatusCode
	}
	scraper, nobody := w.token(t, namespace, "scraper"), w.token(t, namespace, "nobody")
	g := gomega.NewWithT(t)
	g.Eventually(func() int { return answers("https://"+metrics+"/metrics", scraper) }, "90s", "200ms").Should(gomega.Equal(http.StatusOK))
	for name, c := range map[string]struct {
		url, token string
		want       int
	}{
		"without a token":        {"https://" + metrics + "/metrics", "", http.StatusUnauthorized},
		"with a false token":     {"https://" + metrics + "/metrics", "false", http.StatusInternalServerError}, // controller-runtime's word for it
		"without the right":      {"https://" + metrics + "/metrics", nobody, http.StatusForbidden},
		"in plain text":          {"http://" + metrics + "/metrics", scraper, http.StatusBadRequest},
		"a profile":              {"https://" + metrics + "/debug/pprof/", scraper, http.StatusNotFound},
		"a profile, over health": {"http://" + health + "/debug/pprof/", "", http.StatusNotFound},
		"metrics, over health":   {"http://" + health + "/metrics", scraper, http.StatusNotFound},
	} {
		if got := answers(c.url, c.token); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
}

// free is an address of this machine that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	at, err := ports.OnLoopback()
	if err != nil {
		t.Fatal(err)
	}
	return at
}
