package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// TestToolsThatWaitReadTheConditionsAsMeant shows what Flux, Helm and others that wait by kstatus make of an AgentPeer.
func TestToolsThatWaitReadTheConditionsAsMeant(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted}
	for name, c := range map[string]struct {
		generation int64
		conditions []metav1.Condition
		want       status.Status
	}{
		"an object that nobody has seen yet is not healthy": {want: status.InProgressStatus},
		"accepted is healthy":                               {generation: 1, conditions: []metav1.Condition{ready}, want: status.CurrentStatus},
		"a lying agent hangs no rollout": {generation: 1, want: status.CurrentStatus, conditions: []metav1.Condition{ready,
			{Type: v1alpha1.ConditionTrusted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCapabilityDemoted},
			{Type: v1alpha1.ConditionReachable, Status: metav1.ConditionFalse, Reason: "Unreachable"}}},
		"a missing Secret is waited for": {generation: 1, want: status.InProgressStatus, conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSecretNotFound},
			{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWaitingForReference}}},
		"what only an edit can mend has failed": {generation: 1, want: status.FailedStatus, conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalidSpec},
			{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInvalidSpec}}},
	} {
		t.Run(name, func(t *testing.T) {
			u := peer(t, namespace, `{url: "https://a.example"}`)
			if err := server.Client.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			if c.generation != 0 {
				write(t, server, u, func(s *v1alpha1.AgentPeerStatus) {
					s.ObservedGeneration = c.generation
					for _, condition := range c.conditions {
						meta.SetStatusCondition(&s.Conditions, condition)
					}
				})
			}
			if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
				t.Fatal(err)
			}
			got, err := status.Compute(u)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != c.want {
				t.Errorf("kstatus says %s (%s), want %s", got.Status, got.Message, c.want)
			}
		})
	}
}

// write changes the status of an object through the Go types.
func write(t *testing.T, server *apiserver.Server, of client.Object, change func(*v1alpha1.AgentPeerStatus)) {
	t.Helper()
	var p v1alpha1.AgentPeer
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(of), &p); err != nil {
		t.Fatal(err)
	}
	change(&p.Status)
	if err := server.Client.Status().Update(t.Context(), &p); err != nil {
		t.Fatalf("writing status: %v", err)
	}
}

// judged creates a peer with a demoted Streaming capability.
func judged(t *testing.T, server *apiserver.Server, namespace string) *unstructured.Unstructured {
	t.Helper()
	u := peer(t, namespace, `{url: "https://planner.example.com/agents/route"}`)
	u.SetName("planner")
	if err := server.Client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	write(t, server, u, func(s *v1alpha1.AgentPeerStatus) {
		s.ObservedGeneration = 1
		s.Target = "https://planner.example.com/agents/route"
		expires := metav1.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		s.Decision = &v1alpha1.Decision{ExpirationTime: &expires, Choice: v1alpha1.Choice{
			Path: v1alpha1.PathSingleShot, MultiTurn: v1alpha1.MultiTurnAllInputsUpfront,
			Cancel: v1alpha1.CancelBestEffort, Updates: v1alpha1.UpdatesPoll, Reason: "StreamingDemoted"}}
		s.Capabilities = []v1alpha1.CapabilityStatus{
			{Name: v1alpha1.CapabilityPushNotifications, State: v1alpha1.Unverified, Declared: v1alpha1.NotDeclared},
			{Name: v1alpha1.CapabilityStreaming, State: v1alpha1.Demoted, Declared: v1alpha1.Declared}}
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted})
	})
	return u
}

func TestKubectlGetShowsTheDecision(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	judged(t, server, namespace)
	for _, c := range []struct{ output, want string }{
		{"", `NAME PATH STREAMING PUSH MULTI-TURN EXPIRES READY AGE
planner SingleShot Demoted Unverified AllInputsUpfront 2030-01-02T03:04:05Z True AGE`},
		{"wide", `NAME PATH STREAMING PUSH MULTI-TURN EXPIRES READY REASON URL AGE
planner SingleShot Demoted Unverified AllInputsUpfront 2030-01-02T03:04:05Z True StreamingDemoted https://planner.example.com/agents/route AGE`},
	} {
		table := server.Kubectl(t, "", "get", "agentpeers", "--namespace", namespace, "--output", c.output)
		var lines []string
		for line := range strings.Lines(table) {
			words := strings.Fields(line)
			if len(lines) > 0 {
				words[len(words)-1] = "AGE"
			}
			lines = append(lines, strings.Join(words, " "))
		}
		if diff := cmp.Diff(c.want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("kubectl get -o %q (-want +got):\n%s", c.output, diff)
		}
	}
}

func TestReadersCanSelectByTheDecision(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	judged(t, server, namespace)
	other := peer(t, namespace, `{url: "https://other.example"}`)
	if err := server.Client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string]string{
		"status.decision.path=SingleShot":                        "planner",
		"status.decision.path=Streaming":                         "",
		"status.decision.path!=SingleShot":                       other.GetName(),
		"status.decision.path=":                                  other.GetName(),
		"status.decision.multiTurn=AllInputsUpfront":             "planner",
		"status.decision.cancel=BestEffort":                      "planner",
		"status.decision.updates=Poll":                           "planner",
		"status.decision.reason=StreamingDemoted":                "planner",
		"status.target=https://planner.example.com/agents/route": "planner",
		"spec.url=https://other.example":                         other.GetName(),
	} {
		t.Run(selector, func(t *testing.T) {
			parsed, err := fields.ParseSelector(selector)
			if err != nil {
				t.Fatal(err)
			}
			var list v1alpha1.AgentPeerList
			err = server.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: parsed})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, p := range list.Items {
				names = append(names, p.Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("selected %q, want %q", got, want)
			}
		})
	}
}

// TestAnExplanationExistsForEveryField reads the CRD as kubectl explain does: each field is explained, and begins with its name.
func TestAnExplanationExistsForEveryField(t *testing.T) {
	for _, k := range kinds {
		schema := crd(t, k).Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, top := range []string{"spec", "status"} {
			for path, text := range explanations(schema.Properties[top], top) {
				name := path[strings.LastIndex(path, ".")+1:]
				if strings.HasPrefix(path, "status.conditions.*") {
					continue // Kubernetes' own
				}
				if text != "" && !strings.HasPrefix(text, name+" ") && !strings.HasPrefix(text, name+":") {
					t.Errorf("%s of %s is explained by %.60q, want it to begin with %q", path, k.resource, text, name)
				}
				if text == "" {
					t.Errorf("%s of %s is not explained", path, k.resource)
				}
			}
		}
	}
}

// TestWipingStatusIsSafe does what docs/spec/agentpeer.md tells a user who wants to start afresh.
func TestWipingStatusIsSafe(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	u := judged(t, server, namespace)
	server.Kubectl(t, "", "patch", "agentpeer", u.GetName(), "--namespace", namespace, "--subresource=status", "--type=merge", "-p", `{"status":null}`)
	var wiped v1alpha1.AgentPeer
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(u), &wiped); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v1alpha1.AgentPeerStatus{ObservedGeneration: -1}, wiped.Status); diff != "" {
		t.Errorf("the wiped status (-want +got):\n%s", diff)
	}
}

// TestAReadyObjectCanBeWaitedFor does what docs/spec/agentpeer.md says about waiting.
func TestAReadyObjectCanBeWaitedFor(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	u := judged(t, server, namespace)
	server.Kubectl(t, "", "wait", "agentpeer/"+u.GetName(), "--namespace", namespace, "--for=condition=Ready", "--timeout=10s")
	server.Kubectl(t, "", "wait", "agentpeer/"+u.GetName(), "--namespace", namespace, "--for=jsonpath={.status.decision.path}=SingleShot", "--timeout=10s")
}

func TestKubectlExplainAnswers(t *testing.T) {
	server := apiserver.For(t)
	for field, want := range map[string]string{
		"agentpeer": "names an A2A agent",
		"agentpeer.spec.probes.behavior.interval":   "3 times as long",
		"agentpeer.spec.auth":                       "DESCRIPTION",
		"agentpeer.status.decision.path":            "SingleShot",
		"agentpeer.status.capabilities.recent.time": "contradiction",
		"agentpeer.spec.reports.mode":               "Demote",
		"agentpeerreport":                           "what one orchestrator pod saw",
		"agentpeerreport.spec.divergences.basis":    "a MUST is broken",
	} {
		if got := server.Kubectl(t, "", "explain", field); !strings.Contains(got, want) {
			t.Errorf("kubectl explain %s does not say %q:\n%s", field, want, got)
		}
	}
}

func TestGoAndTheAPIServerAgreeOnEveryField(t *testing.T) {
	for _, k := range kinds {
		for _, file := range k.wholes {
			k.agree(t, file)
		}
	}
}

func (k kind) agree(t *testing.T, file string) {
	whole := read(t, file)
	raw, err := json.Marshal(whole.Object)
	if err != nil {
		t.Fatal(err)
	}
	typed := k.empty()
	if err := json.Unmarshal(raw, typed); err != nil {
		t.Fatalf("decoding %s: %v", file, err)
	}
	if raw, err = json.Marshal(typed); err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(places(whole.Object["spec"], "spec"), places(back["spec"], "spec"), durations); diff != "" {
		t.Errorf("%s lost something of its spec on the way through Go (-before +after):\n%s", file, diff)
	}
	if diff := cmp.Diff(places(whole.Object["status"], "status"), places(back["status"], "status"), durations); diff != "" && whole.Object["status"] != nil {
		t.Errorf("%s lost something of its status on the way through Go (-before +after):\n%s", file, diff)
	}
}

// durations compares 1h and 1h0m0s as equal.
var durations = cmp.FilterValues(func(a, b string) bool {
	_, errA := time.ParseDuration(a)
	_, errB := time.ParseDuration(b)
	return errA == nil && errB == nil
}, cmp.Comparer(func(a, b string) bool {
	left, _ := time.ParseDuration(a)
	right, _ := time.ParseDuration(b)
	return left == right
}))
