package main

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/agent"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m) }

func TestAddressRangesAreReadStrictly(t *testing.T) {
	for list, want := range map[string]string{
		"":                          "",
		"10.0.0.0/8, 127.0.0.0/8":   "",
		"fd00::/8,":                 "",
		"10.0.0.0":                  "is not an address range",
		"10.1.2.3/8":                "has bits set beyond its mask, want 10.0.0.0/8",
		"example.com/24, 10.0.0.0/": "is not an address range",
	} {
		_, err := prefixes("--deny-cidrs", list)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--deny-cidrs")) {
			t.Errorf("prefixes(%q): %v, want it to name the flag and say %q", list, err, want)
		}
	}
}

// flags parses arguments as main does.
func flags(t *testing.T, args ...string) options {
	var o options
	set := flag.NewFlagSet("manager", flag.ContinueOnError)
	o.bind(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOnStopTasksAreCanceledAndTheLeaseIsReleased(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	server := apiserver.For(t)
	namespace := server.Namespace(t)
	a := agent.New(agent.Latency(0, time.Hour)) // its tasks would take an hour
	peer := &trustv1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "planner"},
		Spec: trustv1alpha1.AgentPeerSpec{URL: a.Start(t)}}
	if err := server.Client.Create(t.Context(), peer); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, server.Config, flags(t, "-leader-elect", "-leader-election-namespace="+namespace, "-health-probe-bind-address=0",
			"-watch-namespaces="+namespace, "-allow-cidrs=127.0.0.0/8", "-allow-http-hosts=127.0.0.1"))
	}()
	g := NewWithT(t)
	g.Eventually(func() int { return len(a.Tasks()) }).WithTimeout(60 * time.Second).Should(BeNumerically(">", 0))
	lease := func() string {
		var l coordinationv1.Lease
		if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "operator.trust.agentpeer.dev"}, &l); err != nil {
			t.Fatal(err)
		}
		if l.Spec.HolderIdentity == nil {
			return ""
		}
		return *l.Spec.HolderIdentity
	}
	if lease() == "" {
		t.Error("nobody holds the lease while the operator works")
	}

	stop()

	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("stopping: %v", err)
		}
	case <-time.After(40 * time.Second):
		t.Fatal("the operator does not stop")
	}
	for _, task := range a.Tasks() {
		if task.State != "canceled" {
			t.Errorf("task %s was left %s, want it canceled", task.ID, task.State)
		}
	}
	if holder := lease(); holder != "" {
		t.Errorf("the lease is still held by %q", holder)
	}
}
