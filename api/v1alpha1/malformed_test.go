package v1alpha1_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// A kind is one that this package defines.
type kind struct {
	resource string
	// wholes are the examples that set every field between them.
	wholes []string
	// neighbour makes a good object that must be seen whatever else is stored.
	neighbour func(t *testing.T, namespace string) *unstructured.Unstructured
	empty     func() client.Object
	list      func() client.ObjectList
	// count tells how many of a list are neighbours.
	count func(client.ObjectList) int
}

var (
	agentPeers = kind{
		resource: "agentpeers",
		wholes: []string{
			"full.yaml", "service.yaml", "auth-header.yaml", "auth-query.yaml", "auth-basic.yaml", "auth-oauth2.yaml", "auth-serviceaccount.yaml",
		},
		neighbour: func(t *testing.T, namespace string) *unstructured.Unstructured {
			return peer(t, namespace, `{url: "https://neighbour.example"}`)
		},
		empty: func() client.Object { return &v1alpha1.AgentPeer{} },
		list:  func() client.ObjectList { return &v1alpha1.AgentPeerList{} },
		count: func(l client.ObjectList) (n int) {
			for _, p := range l.(*v1alpha1.AgentPeerList).Items {
				if p.Spec.URL == "https://neighbour.example" {
					n++
				}
			}
			return n
		},
	}
	agentPeerReports = kind{
		resource: "agentpeerreports",
		wholes:   []string{"report.yaml"},
		neighbour: func(t *testing.T, namespace string) *unstructured.Unstructured {
			return report(t, namespace, `{target: "https://neighbour.example"}`)
		},
		empty: func() client.Object { return &v1alpha1.AgentPeerReport{} },
		list:  func() client.ObjectList { return &v1alpha1.AgentPeerReportList{} },
		count: func(l client.ObjectList) (n int) {
			for _, r := range l.(*v1alpha1.AgentPeerReportList).Items {
				if r.Spec.Target == "https://neighbour.example" {
					n++
				}
			}
			return n
		},
	}
	kinds = []kind{agentPeers, agentPeerReports}
)

// wrong lists JSON that stands where something else belongs: other types, and numbers that Go's integers cannot hold.
var wrong = []string{
	`null`, `true`, `1`, `-1`, `1.5`, `5.0`, `1e3`, `2147483648`, `9223372036854775808`, `-1e19`, `1e400`,
	`""`, `"1"`, `"x"`, `"\u0000"`, `"\ud800"`, `[]`, `[null]`, `["x"]`, `[{}]`, `{}`, `{"x":null}`, `{"x":{"y":[]}}`,
}

// alike lists texts that look right until Go decodes them.
var alike = map[string][]string{
	"duration": {`"1x"`, `"1.2.3h"`, `"..h"`, `"1h."`, `"1m1h"`, `"1h1h"`, `"-1h"`, `"+1h"`, `".5h"`, `"1.h"`, `"1e3s"`, `"2562048h"`, `"99999999999999999999h"`, `" 1h"`, `"1h "`,
		`"1µs"`, `"1s1h"`, `"99999.999h9999999.999m99999999.9s"`},
	"time": {`"2026-02-31T00:00:00Z"`, `"2026-01-01t00:00:00z"`, `"2026-01-01T00:00:00"`, `"2026-01-01 00:00:00Z"`, `"2026-01-01T24:00:00Z"`,
		`"2026-01-01T00:00:60Z"`, `"2026-01-01T00:00:00+99:99"`, `"2026-01-01T00:00:00+01:00"`, `"2026-01-01T00:00:00,5Z"`,
		`"2026-01-01T00:00:00.1234567891Z"`, `"0000-01-01T00:00:00Z"`, `"2026-01-01T00:00:00+0100"`, `"2026-01-01"`},
	"bytes": {`"aGk"`, `"####"`, `"aGk\n="`, `"a-_="`, `"===="`},
}

// wrongFor lists what to put in the place of a value.
func wrongFor(value any) []string {
	text, _ := value.(string)
	_, noDuration := time.ParseDuration(text)
	_, noTime := time.Parse(time.RFC3339, text)
	switch {
	case text == "":
		return wrong
	case noDuration == nil:
		return slices.Concat(wrong, alike["duration"])
	case noTime == nil:
		return slices.Concat(wrong, alike["time"])
	case strings.HasSuffix(text, "="):
		return slices.Concat(wrong, alike["bytes"])
	}
	return wrong
}

// TestNoMalformedFieldStopsItsNeighbours puts each wrong value into each field in turn. Either the API server refuses it,
// or Go can decode what was stored; and at the end a list and an informer still see a neighbour.
func TestNoMalformedFieldStopsItsNeighbours(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.resource, k.breakEveryField)
	}
}

func (k kind) breakEveryField(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	const neighbours = 3
	for range neighbours {
		if err := server.Client.Create(t.Context(), k.neighbour(t, namespace)); err != nil {
			t.Fatal(err)
		}
	}
	b := breaker{kind: k, server: server, raw: rawClient(t, server), namespace: namespace}
	t.Run("fields", func(t *testing.T) { // ends when all of them have
		done := map[string]bool{}
		for _, file := range k.wholes {
			whole := read(t, file)
			for path, value := range places(whole.Object["spec"], "spec") {
				if !done[generic(path)] {
					done[generic(path)] = true
					t.Run(path, func(t *testing.T) { t.Parallel(); b.breakSpec(t, whole, path, wrongFor(value)) })
				}
			}
			for path, value := range places(whole.Object["status"], "status") {
				t.Run(path, func(t *testing.T) { t.Parallel(); b.breakStatus(t, whole, path, wrongFor(value)) })
			}
		}
	})
	t.Logf("%d values refused, %d stored and decoded", b.refused.Load(), b.stored.Load())

	list := k.list()
	if err := server.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatalf("listing all that was stored: %v", err)
	}
	if got := k.count(list); got != neighbours {
		t.Errorf("the list shows %d neighbours, want %d", got, neighbours)
	}
	if got := k.count(watched(t, server, namespace, k.list())); got != neighbours {
		t.Errorf("the informer shows %d neighbours, want %d", got, neighbours)
	}
}

// breaker puts wrong values into objects and counts what became of them.
type breaker struct {
	kind            kind
	server          *apiserver.Server
	raw             *rest.RESTClient
	namespace       string
	refused, stored atomic.Int64
}

func (b *breaker) breakSpec(t *testing.T, whole *unstructured.Unstructured, path string, values []string) {
	for _, value := range values {
		body := broken(t, whole.Object, path, value, func(o map[string]any) {
			delete(o, "status")
			o["metadata"] = map[string]any{"generateName": "broken-", "namespace": b.namespace}
		})
		b.judge(t, path, value, b.raw.Post().Namespace(b.namespace).Resource(b.kind.resource).Body(body).Do(t.Context()))
	}
}

func (b *breaker) breakStatus(t *testing.T, whole *unstructured.Unstructured, path string, values []string) {
	host := bare(t, b.server, b.namespace, whole)
	for _, value := range values {
		body := broken(t, whole.Object, path, value, func(o map[string]any) {
			o["metadata"] = map[string]any{"name": host.GetName(), "namespace": b.namespace, "resourceVersion": host.GetResourceVersion()}
		})
		request := b.raw.Put().Namespace(b.namespace).Resource(b.kind.resource).Name(host.GetName()).SubResource("status")
		if !b.judge(t, path, value, request.Body(body).Do(t.Context())) {
			continue
		}
		if err := b.server.Client.Get(t.Context(), client.ObjectKeyFromObject(host), host); err != nil {
			t.Fatal(err)
		}
	}
}

// judge holds one answer of the API server to the promise. It tells whether the value was stored.
func (b *breaker) judge(t *testing.T, path, value string, result rest.Result) bool {
	t.Helper()
	body, err := result.Raw()
	if err != nil {
		other := strings.HasPrefix(path, "status") && strings.Contains(err.Error(), "metadata") // such as a stale version
		if other || !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			t.Errorf("%s = %s: %v, want a refusal of the field", path, value, err)
		}
		b.refused.Add(1)
		return false
	}
	b.stored.Add(1)
	if err := json.Unmarshal(body, b.kind.empty()); err != nil {
		t.Errorf("%s = %s was stored, and Go cannot decode it: %v", path, value, err)
	}
	return true
}

// TestTheWholeExamplesSetEveryField keeps the test above honest: a field that no example sets is not broken by it.
func TestTheWholeExamplesSetEveryField(t *testing.T) {
	for _, k := range kinds {
		set := map[string]bool{}
		for _, file := range k.wholes {
			u := read(t, file)
			for _, top := range []string{"spec", "status"} {
				for path := range places(u.Object[top], top) {
					set[generic(path)] = true
				}
			}
		}
		schema := crd(t, k).Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, top := range []string{"spec", "status"} {
			for path := range explanations(schema.Properties[top], top) {
				if !set[generic(path)] {
					t.Errorf("no example in testdata sets %s of %s", path, k.resource)
				}
			}
		}
	}
}

func TestTheWholeExamplesAreAccepted(t *testing.T) {
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	for _, file := range slices.Concat(agentPeers.wholes, agentPeerReports.wholes) {
		t.Run(file, func(t *testing.T) {
			whole := read(t, file)
			host := bare(t, server, namespace, whole)
			if whole.Object["status"] == nil {
				return
			}
			host.Object["status"] = whole.Object["status"]
			if err := server.Client.Status().Update(t.Context(), host); err != nil {
				t.Errorf("writing its status: %v", err)
			}
		})
	}
}

// bare creates the example, which the API server stores without its status.
func bare(t *testing.T, server *apiserver.Server, namespace string, whole *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	u := whole.DeepCopy()
	u.SetNamespace(namespace)
	u.SetName("")
	u.SetGenerateName(whole.GetName() + "-")
	if err := server.Client.Create(t.Context(), u); err != nil {
		t.Fatalf("creating %q: %v", whole.GetName(), err)
	}
	return u
}

// watched is what an informer of typed objects sees once it has synchronised.
func watched(t *testing.T, server *apiserver.Server, namespace string, list client.ObjectList) client.ObjectList {
	t.Helper()
	informers, err := cache.New(server.Config, cache.Options{
		Scheme: server.Scheme, DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = informers.Start(t.Context()) }()          // ends with the test
	if err := informers.List(t.Context(), list); err != nil { // starts the informer and waits for it
		t.Fatalf("watching all that was stored: %v", err)
	}
	return list
}

// rawClient sends bytes as they are, which no client of Go values would.
func rawClient(t *testing.T, server *apiserver.Server) *rest.RESTClient {
	t.Helper()
	config := dynamic.ConfigFor(server.Config)
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath, config.WarningHandler = "/apis", rest.NoWarnings{}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	raw, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func read(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &u.Object); err != nil {
		t.Fatalf("reading %q: %v", file, err)
	}
	return u
}

func crd(t *testing.T, k kind) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(apiserver.Root(), "config", "crd", "bases", "trust.agentpeer.dev_"+k.resource+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// places lists every place in a value that has a schema of its own, with the value there.
func places(value any, at string) map[string]any {
	out := map[string]any{at: value}
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if strings.HasSuffix(at, ".data") {
				break // free form
			}
			maps.Copy(out, places(v[key], at+"."+key))
		}
	case []any:
		for i := range v {
			maps.Copy(out, places(v[i], fmt.Sprintf("%s.%d", at, i)))
		}
	}
	return out
}

// generic turns a path of a value into one of a schema. All messages have the same schema.
func generic(path string) string {
	words := strings.Split(path, ".")
	for i, w := range words {
		if i > 0 && (w[0] >= '0' && w[0] <= '9' || words[i-1] == "metadata") {
			words[i] = "*"
		}
	}
	return strings.NewReplacer("probes.fixtures.longRunning.message.", "probes.message.", "probes.fixtures.inputRequired.message.", "probes.message.",
		"probes.fixtures.inputRequired.reply.", "probes.message.", "probes.fixtures.inputModes.*.message.", "probes.message.").Replace(strings.Join(words, "."))
}

// explanations lists the description of every field in a schema.
func explanations(s apiextensionsv1.JSONSchemaProps, at string) map[string]string {
	out := map[string]string{at: s.Description}
	for key, p := range s.Properties {
		maps.Copy(out, explanations(p, at+"."+key))
	}
	for _, inner := range []*apiextensionsv1.JSONSchemaProps{entries(s.Items), values(s.AdditionalProperties)} {
		if inner == nil {
			continue
		}
		for path, text := range explanations(*inner, at+".*") {
			if path != at+".*" { // explained by the list it is in
				out[path] = text
			}
		}
	}
	return out
}

func entries(items *apiextensionsv1.JSONSchemaPropsOrArray) *apiextensionsv1.JSONSchemaProps {
	if items == nil {
		return nil
	}
	return items.Schema
}

func values(properties *apiextensionsv1.JSONSchemaPropsOrBool) *apiextensionsv1.JSONSchemaProps {
	if properties == nil {
		return nil
	}
	return properties.Schema
}

// broken encodes the object with the value at path replaced, byte for byte.
func broken(t *testing.T, object map[string]any, path, value string, prepare func(map[string]any)) []byte {
	t.Helper()
	const mark = "@here@"
	o := (&unstructured.Unstructured{Object: object}).DeepCopy().Object
	prepare(o)
	var at any = o
	words := strings.Split(path, ".")
	for i, w := range words {
		last := i == len(words)-1
		switch v := at.(type) {
		case map[string]any:
			if last {
				v[w] = mark
			}
			at = v[w]
		case []any:
			n, err := strconv.Atoi(w)
			if err != nil {
				t.Fatalf("reading path %q: %v", path, err)
			}
			if last {
				v[n] = mark
			}
			at = v[n]
		}
	}
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(body, []byte(`"`+mark+`"`), []byte(value), 1)
}
