package client

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// AccessError says that the API server refuses to show AgentPeers, and what to do about it. Use errors.As with a *AccessError.
type AccessError struct {
	// Namespace that is refused; empty: all.
	Namespace string
	// Err is the API server's answer.
	Err error
}

func (e *AccessError) Error() string {
	where, bind := "in all namespaces", "with a ClusterRoleBinding, or name the namespaces to look at in CacheOptions"
	if e.Namespace != "" {
		where, bind = fmt.Sprintf("in namespace %q", e.Namespace), "with a RoleBinding in that namespace"
	}
	mend := "bind the ClusterRole agentpeer-orchestrator (get, list and watch of agentpeers.trust.agentpeer.dev) to this ServiceAccount " + bind
	switch {
	case apierrors.IsUnauthorized(e.Err):
		mend = "the API server does not know these credentials: renew them"
	case apierrors.IsNotFound(e.Err):
		mend = "the API server has no AgentPeers: install the CRDs of the operator"
	}
	return fmt.Sprintf("watching AgentPeers %s: %s: %v", where, mend, e.Err)
}

// Unwrap gives the API server's answer.
func (e *AccessError) Unwrap() error { return e.Err }

// access gives what the API server said its type.
func access(namespace string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) {
		return &AccessError{Namespace: namespace, Err: err}
	}
	return fmt.Errorf("watching AgentPeers: %w", err)
}
