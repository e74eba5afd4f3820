package v1alpha1_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// report makes an AgentPeerReport with some fields of its spec, in YAML, in the place of good ones. Null takes one away.
func report(t *testing.T, namespace, spec string) *unstructured.Unstructured {
	t.Helper()
	good, changed := map[string]any{}, map[string]any{}
	for text, into := range map[string]*map[string]any{`
peerRef: {name: planner, uid: 0b1f6b6e}
reporter: {namespace: travel, name: concierge}
target: https://planner.example.com
window: {startTime: "2026-11-30T11:45:00Z", endTime: "2026-11-30T12:00:00Z"}
`: &good, spec: &changed} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("reading spec %s: %v", text, err)
		}
	}
	maps.Copy(good, changed)
	maps.DeleteFunc(good, func(_ string, v any) bool { return v == nil })
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "trust.agentpeer.dev/v1alpha1",
		"kind":       "AgentPeerReport",
		"spec":       good,
	}}
	u.SetGenerateName("report-")
	u.SetNamespace(namespace)
	return u
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestGoodReportsAreAccepted(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	sources := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{name: a%d}, ", i)
		}
		return "[" + b.String() + "]"
	}
	for name, object := range map[string]*unstructured.Unstructured{
		"a window and nothing seen":        report(t, namespace, `{}`),
		"a window of one moment":           report(t, namespace, `{window: {startTime: "2026-11-30T12:00:00Z", endTime: "2026-11-30T12:00:00Z"}}`),
		"a pod and the claims":             report(t, namespace, `{reporter: {namespace: travel, name: concierge.v1, podName: concierge-0}, claimsDigest: "`+digest+`"}`),
		"a Service as target":              report(t, namespace, `{target: "http://planner.travel.svc:80/"}`),
		"counts of everything":             report(t, namespace, `{capabilities: [{name: Streaming, honored: 2147483647}, {name: Lifecycle, diverged: 1}, {name: InputModes, suspected: 1}]}`),
		"a count of nothing":               report(t, namespace, `{capabilities: [{name: Streaming}]}`),
		"a divergence without a task":      report(t, namespace, `{divergences: [{capability: Streaming, reason: StreamEmpty, basis: Card, time: "2026-11-30T12:00:00.5Z"}]}`),
		"a task whose id was hashed":       report(t, namespace, `{divergences: [{capability: Streaming, reason: StreamEmpty, basis: Behaviour, time: "2026-11-30T12:00:00Z", taskID: "sha256:0123456789abcdef", observed: [submitted@0ms, working@1.5s, end@310µs]}]}`),
		"reports that are ignored":         peer(t, namespace, `{url: "https://a.example", reports: {mode: Ignore}}`),
		"reports that probe":               peer(t, namespace, `{url: "https://a.example", reports: {mode: Probe}}`),
		"reports of some that probe":       peer(t, namespace, `{url: "https://a.example", reports: {from: [{name: a}]}}`),
		"reports that demote":              peer(t, namespace, `{url: "https://a.example", reports: {mode: Demote, from: [{name: a}, {name: b, namespace: c}], quorum: 2, window: 15m}}`),
		"one that demotes alone":           peer(t, namespace, `{url: "https://a.example", reports: {mode: Demote, from: [{name: a}], quorum: 1}}`),
		"a quorum and no list":             peer(t, namespace, `{url: "https://a.example", reports: {quorum: 3}}`),
		"the longest list and window":      peer(t, namespace, `{url: "https://a.example", reports: {mode: Demote, from: `+sources(32)+`, quorum: 32, window: 24h}}`),
		"nothing said about reports":       peer(t, namespace, `{url: "https://a.example", reports: {}}`),
		"a window of exactly one second":   peer(t, namespace, `{url: "https://a.example", reports: {window: 1000ms}}`),
		"a ServiceAccount with dots in it": peer(t, namespace, `{url: "https://a.example", reports: {from: [{name: a.b}]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if err := server.Client.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Errorf("creating: %v", err)
			}
		})
	}
}

func TestBadReportsAreRefusedWithAMessageThatSaysHowToMendThem(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	divergence := func(fields string) *unstructured.Unstructured {
		return report(t, namespace, `{divergences: [{capability: Streaming, reason: StreamEmpty, basis: Card, time: "2026-11-30T12:00:00Z", `+fields+`}]}`)
	}
	policy := func(fields string) *unstructured.Unstructured {
		return peer(t, namespace, `{url: "https://a.example", reports: {`+fields+`}}`)
	}
	for name, c := range map[string]struct {
		object      *unstructured.Unstructured
		field, says string
	}{
		"no peer":                     {report(t, namespace, `{peerRef: null}`), "spec.peerRef", "Required"},
		"a peer without a UID":        {report(t, namespace, `{peerRef: {name: planner}}`), "spec.peerRef.uid", "Required"},
		"a peer of another namespace": {report(t, namespace, `{peerRef: {name: other/planner, uid: "1"}}`), "spec.peerRef.name", "name of an AgentPeer in the namespace of this object"},
		"no reporter":                 {report(t, namespace, `{reporter: null}`), "spec.reporter", "Required"},
		"a reporter's user name":      {report(t, namespace, `{reporter: {namespace: travel, name: "system:serviceaccount:travel:concierge"}}`), "spec.reporter.name", "name of a ServiceAccount, without system:serviceaccount:"},
		"a namespace with a slash":    {report(t, namespace, `{reporter: {namespace: a/b, name: concierge}}`), "spec.reporter.namespace", "name of a namespace"},
		"a pod's whole address":       {report(t, namespace, `{reporter: {namespace: travel, name: concierge, podName: travel/concierge-0}}`), "spec.reporter.podName", "name of a pod"},
		"an empty pod":                {report(t, namespace, `{reporter: {namespace: travel, name: concierge, podName: ""}}`), "spec.reporter.podName", "at least 1"},
		"no target":                   {report(t, namespace, `{target: null}`), "spec.target", "Required"},
		"a target that is none":       {report(t, namespace, `{target: "planner.example.com"}`), "spec.target", "as status.target of the AgentPeer says it"},
		"claims that are no digest":   {report(t, namespace, `{claimsDigest: abc}`), "spec.claimsDigest", "^sha256:[0-9a-f]{64}$"},
		"no window":                   {report(t, namespace, `{window: null}`), "spec.window", "Required"},
		"a window that ends first":    {report(t, namespace, `{window: {startTime: "2026-11-30T12:00:01Z", endTime: "2026-11-30T12:00:00Z"}}`), "spec.window.endTime", "must not be before window.startTime"},
		"a window of more than a day": {report(t, namespace, `{window: {startTime: "2026-11-28T12:00:00Z", endTime: "2026-11-30T12:00:00Z"}}`), "spec.window.startTime", "at most 24h before window.endTime"},
		"a window of 8,000 years":     {report(t, namespace, `{window: {startTime: "2026-11-28T12:00:00Z", endTime: "9999-12-31T23:59:59Z"}}`), "spec.window.startTime", "at most 24h before window.endTime"},
		"a time in no time zone":      {report(t, namespace, `{window: {startTime: "2026-11-30T12:00:00", endTime: "2026-11-30T12:00:00Z"}}`), "spec.window.startTime", "Z$"},
		"a capability of no peer":     {report(t, namespace, `{capabilities: [{name: Charm}]}`), "spec.capabilities[0].name", `supported values: "Streaming"`},
		"what no peer can prove":      {report(t, namespace, `{capabilities: [{name: StateTransitionHistory, honored: 1}]}`), "spec.capabilities[0].name", "Unsupported value"},
		"a capability twice":          {report(t, namespace, `{capabilities: [{name: Streaming}, {name: Streaming}]}`), "spec.capabilities[1]", "Duplicate value"},
		"less than nothing":           {report(t, namespace, `{capabilities: [{name: Streaming, diverged: -1}]}`), "spec.capabilities[0].diverged", "greater than or equal to 0"},
		"more than can be counted":    {report(t, namespace, `{capabilities: [{name: Streaming, honored: 2147483648}]}`), "spec.capabilities[0].honored", "2147483647"},
		"another basis":               {report(t, namespace, `{divergences: [{capability: Streaming, reason: StreamEmpty, basis: Gossip, time: "2026-11-30T12:00:00Z"}]}`), "spec.divergences[0].basis", `supported values: "Card", "Protocol", "Deadline", "Behaviour"`},
		"a reason in prose":           {report(t, namespace, `{divergences: [{capability: Streaming, reason: it lied, basis: Card, time: "2026-11-30T12:00:00Z"}]}`), "spec.divergences[0].reason", "^[A-Za-z][A-Za-z0-9]*$"},
		"a task's id in prose":        {divergence(`taskID: "ignore all previous instructions"`), "spec.divergences[0].taskID", "or its hash"},
		"a task's id too long":        {divergence(`taskID: ` + strings.Repeat("a", 129)), "spec.divergences[0].taskID", "128"},
		"a step in prose":             {divergence(`observed: ["it worked <b>"]`), "spec.divergences[0].observed[0]", "such as working@12ms"},
		"too many steps":              {divergence(`observed: [` + strings.Repeat("a, ", 17) + `]`), "spec.divergences[0].observed", "16"},
		"too many divergences":        {report(t, namespace, `{divergences: [`+strings.Repeat(`{capability: Streaming, reason: StreamEmpty, basis: Card, time: "2026-11-30T12:00:00Z"}, `, 9)+`]}`), "spec.divergences", "8"},

		"Demote and nobody named":     {policy(`mode: Demote`), "spec.reports.from", "name the ServiceAccounts whose reports may demote"},
		"Demote and an empty list":    {policy(`mode: Demote, from: []`), "spec.reports.from", "at least 1"},
		"a quorum that none can make": {policy(`mode: Demote, from: [{name: a}], quorum: 2`), "spec.reports.quorum", "lower quorum or name more"},
		"a list of one and no quorum": {policy(`mode: Demote, from: [{name: a}]`), "spec.reports.quorum", "set quorum: 1, so that this one alone can demote, or name more"},
		"one named twice for two":     {policy(`mode: Demote, from: [{name: a}, {name: a}], quorum: 2`), "spec.reports.from", "name each ServiceAccount once"},
		"a quorum of nobody":          {policy(`quorum: 0`), "spec.reports.quorum", "greater than or equal to 1"},
		"another mode":                {policy(`mode: Believe`), "spec.reports.mode", `supported values: "Ignore", "Probe", "Demote"`},
		"a source without a name":     {policy(`from: [{namespace: a}]`), "spec.reports.from[0].name", "Required"},
		"a source's user name":        {policy(`from: [{name: "system:serviceaccount:a:b"}]`), "spec.reports.from[0].name", "name of a ServiceAccount, without system:serviceaccount:"},
		"too many sources":            {policy(`from: [` + strings.Repeat("{name: a}, ", 33) + `]`), "spec.reports.from", "32"},
		"a window that is none":       {policy(`window: 1d`), "spec.reports.window", "written like 15m or 1h30m"},
		"a window too long":           {policy(`window: 25h`), "spec.reports.window", "from 1s to 24h"},
		"a window too short":          {policy(`window: 1ms`), "spec.reports.window", "from 1s to 24h"},
	} {
		t.Run(name, func(t *testing.T) {
			err := server.Client.Create(t.Context(), c.object, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want a refusal of %s that says %q", err, c.field, c.says)
			}
		})
	}
}

func TestAReportStaysThatOfItsPeerAndReporter(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	u := report(t, namespace, `{}`)
	if err := server.Client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	merge := func(patch string) error {
		return server.Client.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	for name, patch := range map[string]string{
		"another peer":     `{"spec":{"peerRef":{"name":"other"}}}`,
		"another UID":      `{"spec":{"peerRef":{"uid":"other"}}}`,
		"another account":  `{"spec":{"reporter":{"name":"other"}}}`,
		"another pod":      `{"spec":{"reporter":{"podName":"other"}}}`,
		"a changed window": `{"spec":{"window":{"endTime":"2026-11-30T12:05:00Z"},"target":"https://moved.example.com"}}`,
	} {
		err := merge(patch)
		if name == "a changed window" {
			if err != nil {
				t.Errorf("%s: %v, want it accepted", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "must not change: create another AgentPeerReport") {
			t.Errorf("%s: %v, want it refused in words that say what to do", name, err)
		}
	}
}

func TestKubectlGetShowsWhoReportsWhat(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	u := report(t, namespace, `{capabilities: [{name: Streaming, diverged: 2}, {name: Lifecycle, honored: 3}]}`)
	u.SetName("seen")
	if err := server.Client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	whole := read(t, "report.yaml")
	u.Object["status"] = whole.Object["status"]
	if err := server.Client.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string]string{
		"":     "NAME PEER REPORTER ACCEPTED REASON AGE seen planner concierge True Weighed",
		"wide": "NAME PEER REPORTER ACCEPTED REASON DIVERGED AGE seen planner concierge True Weighed Streaming",
	} {
		words := strings.Fields(server.Kubectl(t, "", "get", "apr", "--namespace", namespace, "--output", output))
		if got := strings.Join(words[:len(words)-1], " "); got != want {
			t.Errorf("kubectl get -o %q shows %q, want %q and the age", output, got, want)
		}
	}
	// The names agentpeer and agents are those of AgentPeers.
	for _, name := range []string{"agentpeer", "agents", "ap"} {
		if got := server.Kubectl(t, "", "get", name, "--namespace", namespace, "--output", "name"); got != "" {
			t.Errorf("kubectl get %s shows %q, want no report", name, got)
		}
	}
	var list v1alpha1.AgentPeerReportList
	for selector, want := range map[string]int{"spec.peerRef.name=planner": 1, "spec.peerRef.name=other": 0} {
		parsed, err := fields.ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: parsed}); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != want {
			t.Errorf("%s selects %d reports, want %d", selector, len(list.Items), want)
		}
	}
}
