package controllers

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

func clientKey(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func asAccount(name string) func(*trustv1alpha1.AgentPeerSpec) {
	return func(p *trustv1alpha1.AgentPeerSpec) {
		p.Auth = &trustv1alpha1.Auth{Type: trustv1alpha1.AuthServiceAccount, ServiceAccount: &trustv1alpha1.ServiceAccountAuth{Name: name}}
	}
}

func TestSecurityCredentialsOfAServiceAccountAreShortLivedAndForTheOperatorsAudience(t *testing.T) {
	s := newStage(t)
	requests := 0
	s.client = interceptor.NewClient(s.client.(client.WithWatch), interceptor.Funcs{
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, request client.Object, opts ...client.SubResourceCreateOption) error {
			requests++
			return c.SubResource(sub).Create(ctx, o, request, opts...)
		}})
	wantFault := func(name, reason, says string) {
		t.Helper()
		if target, f := s.resolve(asAccount(name)); f == nil || f.reason != reason || !strings.Contains(f.message, says) || target.Credentials.Value != "" {
			t.Errorf("got %+v, want %s that says %q", f, reason, says)
		}
	}

	wantFault("caller", trustv1alpha1.ReasonServiceAccountTokensDisabled, "serviceAccountTokens.audience")
	s.r.Config.ServiceAccountTokens.Audience = "https://agents.example.com"
	wantFault("caller", trustv1alpha1.ReasonServiceAccountNotFound, `ServiceAccount "caller" does not exist`)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "caller"}}
	s.create(account)
	wantFault("caller", trustv1alpha1.ReasonServiceAccountNotAllowed, trustv1alpha1.SendToPeersLabel+"=true")
	account.Labels = map[string]string{trustv1alpha1.SendToPeersLabel: trustv1alpha1.SendToPeersValue}
	account.Annotations = map[string]string{trustv1alpha1.AllowedOriginsAnnotation: "https://other.example.com"}
	s.update(account)
	wantFault("caller", trustv1alpha1.ReasonOriginNotListed, "does not list https://planner.example.com")
	account.Annotations[trustv1alpha1.AllowedOriginsAnnotation] = "https://planner.example.com"
	s.update(account)
	s.r.Self = types.NamespacedName{Namespace: s.namespace, Name: "caller"}
	wantFault("caller", trustv1alpha1.ReasonInvalidSpec, "is the operator's own")
	s.r.Self = types.NamespacedName{Namespace: "elsewhere", Name: "caller"}
	if requests != 0 {
		t.Errorf("%d tokens were requested before one may be sent", requests)
	}

	target, f := s.resolve(asAccount("caller"))
	if f != nil {
		t.Fatalf("got %+v, want a token", f)
	}
	first := target.Credentials.Value
	claims := claimsOf(t, first)
	if !slices.Equal(claims.Audience, []string{"https://agents.example.com"}) || claims.Subject != "system:serviceaccount:"+s.namespace+":caller" {
		t.Errorf("the token is of %q for %v", claims.Subject, claims.Audience)
	}
	if life := time.Unix(claims.Expires, 0).Sub(s.clock.Now()); life < 9*time.Minute || life > 11*time.Minute {
		t.Errorf("the token lives for %s, want 10 min", life)
	}
	if !slices.Equal(target.Credentials.Origins, []string{"https://planner.example.com"}) || target.Credentials.Header != "Authorization" {
		t.Errorf("it goes to %v in %s", target.Credentials.Origins, target.Credentials.Header)
	}

	for _, step := range []struct {
		later  time.Duration
		change func()
		want   int
		why    string
	}{
		{4 * time.Minute, func() {}, 1, "within the first half of its life it is used again"},
		{2 * time.Minute, func() {}, 2, "a round needs the other half"},
		{0, func() {
			account.Labels = nil
			s.update(account)
			wantFault("caller", trustv1alpha1.ReasonServiceAccountNotAllowed, "label it")
			account.Labels = map[string]string{trustv1alpha1.SendToPeersLabel: trustv1alpha1.SendToPeersValue}
			s.update(account)
		}, 3, "what was taken back is not used again"},
		{0, func() {
			if err := s.client.Delete(t.Context(), account); err != nil {
				t.Fatal(err)
			}
			wantFault("caller", trustv1alpha1.ReasonServiceAccountNotFound, "does not exist")
			next := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "caller", Labels: account.Labels}}
			s.create(next)
		}, 4, "another ServiceAccount of the same name is another"},
	} {
		s.clock.SetTime(s.clock.Now().Add(step.later))
		step.change()
		if target, f := s.resolve(asAccount("caller")); f != nil || requests != step.want || (target.Credentials.Value == first) != (step.want == 1) {
			t.Errorf("%+v after %d requests, want %d: %s", f, requests, step.want, step.why)
		}
	}
}

type tokenClaims struct {
	Subject  string   `json:"sub"`
	Audience []string `json:"aud"`
	Expires  int64    `json:"exp"`
}

func claimsOf(t *testing.T, header string) tokenClaims {
	t.Helper()
	parts := strings.Split(strings.TrimPrefix(header, "Bearer "), ".")
	if len(parts) != 3 {
		t.Fatal("no token of three parts")
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var c tokenClaims
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// The ClusterRole lets the operator use no ServiceAccount at all.
func TestSecurityCredentialsOfAServiceAccountNeedARightThatSomebodyGives(t *testing.T) {
	s := newStage(t)
	s.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "caller",
		Labels: map[string]string{trustv1alpha1.SendToPeersLabel: trustv1alpha1.SendToPeersValue}}})
	s.r.Config.ServiceAccountTokens.Audience = "https://agents.example.com"
	as, err := client.NewWithWatch(limited(t, s.server), client.Options{Scheme: s.server.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	s.client = as

	_, f := s.resolve(asAccount("caller"))

	if f == nil || f.reason != trustv1alpha1.ReasonServiceAccountNotFound || !f.slow || !strings.Contains(f.message, "create serviceaccounts/token in this namespace") {
		t.Errorf("got %+v, want it to say what to grant", f)
	}
}

func TestAnAudienceOfTheAPIServerIsRefused(t *testing.T) {
	for audience, refused := range map[string]bool{
		"": false, "https://agents.example.com": false, "agents": false, "kubernetes.example.com": false,
		"https://kubernetes.default.svc": true, "https://kubernetes.default.svc.cluster.local": true, "HTTPS://Kubernetes.Default.SVC/": true,
		"https://kubernetes.default.svc:443": true, "kubernetes.default.svc": true, "kubernetes": true, "api": true,
		"https://issuer.example.com/": true, "https://10.0.0.1:6443": true,
	} {
		tokens := ServiceAccountTokens{Audience: audience, Duration: duration(10 * time.Minute)}
		if err := tokens.RefuseAudiences("https://issuer.example.com", "", "https://10.0.0.1:6443/"); (err != nil) != refused {
			t.Errorf("audience %q: %v, want refused: %v", audience, err, refused)
		}
	}
	for file, want := range map[string]string{
		"serviceAccountTokens: {audience: kubernetes}":               "is the API server's own",
		"serviceAccountTokens: {audience: a b}":                      "serviceAccountTokens.audience: it has spaces",
		"serviceAccountTokens: {audience: agents, duration: 9m}":     "serviceAccountTokens.duration: 9m0s, want whole seconds from 10m to 1h",
		"serviceAccountTokens: {audience: agents, duration: 1h1s}":   "want whole seconds from 10m to 1h",
		"serviceAccountTokens: {audience: agents, audiences: agent}": "unknown field",
	} {
		if _, err := LoadConfig(writeConfig(t, file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	config, err := LoadConfig(writeConfig(t, "serviceAccountTokens: {audience: agents, duration: 20m}"))
	if err != nil || config.ServiceAccountTokens.Audience != "agents" || config.ServiceAccountTokens.Duration.Duration != 20*time.Minute {
		t.Errorf("read %+v, %v", config.ServiceAccountTokens, err)
	}
}
