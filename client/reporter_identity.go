package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// NotServiceAccountError says that the API server knows this process as somebody who is no ServiceAccount, such as a person with a
// kubeconfig. Reports are written by ServiceAccounts alone, so there are none of this process.
type NotServiceAccountError struct {
	// Username as the API server says it.
	Username string
}

func (e *NotServiceAccountError) Error() string {
	return fmt.Sprintf("reporting as %q, who is no ServiceAccount: run in a pod, or with a kubeconfig that has the token of a ServiceAccount", e.Username)
}

// podNameKey is where the API server says which pod a token is bound to.
const podNameKey = "authentication.kubernetes.io/pod-name"

// reporterOf reads who reports from what the API server says of its caller.
func reporterOf(user authenticationv1.UserInfo) (v1alpha1.Reporter, error) {
	words := strings.Split(user.Username, ":")
	if len(words) != 4 || words[0] != "system" || words[1] != "serviceaccount" {
		return v1alpha1.Reporter{}, &NotServiceAccountError{Username: user.Username}
	}
	by := v1alpha1.Reporter{Namespace: words[2], Name: words[3]}
	if pods := user.Extra[podNameKey]; len(pods) > 0 {
		by.PodName = pods[0]
	}
	return by, nil
}

// reportClient asks a real API server.
type reportClient struct {
	users   authenticationclient.SelfSubjectReviewInterface
	reports rest.Interface
}

func newReportClient(config *rest.Config) (*reportClient, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json" // no custom resource speaks another
	users, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config.APIPath, config.GroupVersion = "/apis", &v1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	reports, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &reportClient{users: users.SelfSubjectReviews(), reports: reports}, nil
}

func (c *reportClient) whoami(ctx context.Context) (v1alpha1.Reporter, error) {
	review, err := c.users.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return v1alpha1.Reporter{}, fmt.Errorf("asking the API server who this process is: %w", err)
	}
	return reporterOf(review.Status.UserInfo)
}

// write applies the report, so that one request creates it, changes it, and puts it back if somebody deleted it.
func (c *reportClient) write(ctx context.Context, report *v1alpha1.AgentPeerReport) error {
	body, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encoding a report: %w", err)
	}
	err = c.reports.Patch(types.ApplyPatchType).Namespace(report.Namespace).Resource("agentpeerreports").Name(report.Name).
		Param("fieldManager", "agentpeer-client").Param("force", "true").Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("applying report %s/%s: %w", report.Namespace, report.Name, err)
	}
	return nil
}

// reportName is the name of the report of one pod about one AgentPeer: readable, of a bounded length, and with a hash that keeps apart what
// is not the same: another AgentPeer of the name, another reporter, and, where there is no pod, another host.
func reportName(p *seenPeer, by v1alpha1.Reporter, host string) string {
	who := by.PodName
	if who == "" {
		who = by.Name
	} else {
		host = ""
	}
	hash := sha256.Sum256([]byte(strings.Join([]string{string(p.uid), by.Namespace, by.Name, by.PodName, host, p.salt}, "\n")))
	return cutName(p.peer.Name) + "-" + cutName(who) + "-" + hex.EncodeToString(hash[:5])
}

// cutName shortens a name of Kubernetes to one that still is one.
func cutName(name string) string {
	return strings.TrimRight(name[:min(len(name), 100)], "-.")
}
