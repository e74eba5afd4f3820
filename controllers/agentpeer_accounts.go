package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// accountTokens keeps tokens of ServiceAccounts in memory for half of their lives, so that a round has the other half and the API server
// is not asked at every turn.
type accountTokens struct {
	mu sync.Mutex
	// byAccount: another ServiceAccount of the same name has another UID. One process has one audience.
	byAccount map[types.UID]accountToken
}

type accountToken struct {
	value string
	until time.Time
}

func newAccountTokens() *accountTokens {
	return &accountTokens{byAccount: map[types.UID]accountToken{}}
}

func (t *accountTokens) get(account types.UID, now time.Time) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	token, ok := t.byAccount[account]
	return token.value, ok && now.Before(token.until)
}

func (t *accountTokens) put(account types.UID, value string, expires, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid, old := range t.byAccount {
		if !now.Before(old.until) {
			delete(t.byAccount, uid)
		}
	}
	t.byAccount[account] = accountToken{value: value, until: now.Add(expires.Sub(now) / 2)}
}

func (t *accountTokens) drop(account types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byAccount, account)
}

// The rights to get ServiceAccounts and to create tokens of them are no part of the operator's ClusterRole, and so have no marker here:
// who can make tokens of every ServiceAccount of a cluster is as good as all of them. An administrator grants both by a Role in the
// namespaces that use them.

// accountToken is a token of a ServiceAccount of the namespace, of the audience that the operator's configuration names. The operator's
// own ServiceAccount has none to give.
func (r *resolver) accountToken(ctx context.Context, namespace, name string, to recipient) (string, *fault, error) {
	if r.granted.Audience == "" {
		return "", &fault{reason: trustv1alpha1.ReasonServiceAccountTokensDisabled, slow: true, message: "the operator's configuration names no audience " +
			"for tokens of ServiceAccounts: ask its administrator to set serviceAccountTokens.audience, or use another type of spec.auth"}, nil
	}
	if r.self.Name == name && r.self.Namespace == namespace {
		return "", unusable("ServiceAccount %q is the operator's own, whose tokens go to nobody: name another", name), nil
	}
	var account corev1.ServiceAccount
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &account)
	if f := missingAccount(err, name); f != nil {
		return "", f, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("getting ServiceAccount %q: %w", name, err)
	}
	r.note(&account)
	f := unlisted(&account, "ServiceAccount", to)
	if account.Labels[trustv1alpha1.SendToPeersLabel] != trustv1alpha1.SendToPeersValue {
		f = waiting(trustv1alpha1.ReasonServiceAccountNotAllowed, "tokens of ServiceAccount %q may not be sent to peers: label it %s=%s to allow it",
			name, trustv1alpha1.SendToPeersLabel, trustv1alpha1.SendToPeersValue)
	}
	if f != nil {
		r.tokens.drop(account.UID)
		return "", f, nil
	}
	if token, ok := r.tokens.get(account.UID, r.now); ok {
		return token, nil, nil
	}
	return r.newAccountToken(ctx, &account)
}

func (r *resolver) newAccountToken(ctx context.Context, account *corev1.ServiceAccount) (string, *fault, error) {
	audience := []string{r.granted.Audience}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: audience, ExpirationSeconds: ptr.To(int64(r.granted.Duration.Duration / time.Second))}}
	err := r.client.SubResource("token").Create(ctx, account, request)
	if f := missingAccount(err, account.Name); f != nil {
		return "", f, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("requesting a token of ServiceAccount %q: %w", account.Name, err)
	}
	if !slices.Equal(request.Spec.Audiences, audience) {
		return "", nil, fmt.Errorf("requesting a token of ServiceAccount %q: it came for another audience, and is not used", account.Name)
	}
	r.tokens.put(account.UID, request.Status.Token, request.Status.ExpirationTimestamp.Time, r.now)
	return request.Status.Token, nil, nil
}

// missingAccount is missing for ServiceAccounts, which the operator may not read unless somebody said so.
func missingAccount(err error, name string) *fault {
	if apierrors.IsForbidden(err) {
		return &fault{reason: trustv1alpha1.ReasonServiceAccountNotFound, slow: true, message: fmt.Sprintf("the operator may not use ServiceAccount %q: "+
			"let its own ServiceAccount get serviceaccounts and create serviceaccounts/token in this namespace, by a Role", name)}
	}
	return missing(err, "ServiceAccount", name, trustv1alpha1.ReasonServiceAccountNotFound)
}
