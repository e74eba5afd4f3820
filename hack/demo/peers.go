package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// Annotations in the YAML files.
const (
	saysAnnotation   = "demo.agentpeer.dev/says"   // what the agent is, for people
	expectAnnotation = "demo.agentpeer.dev/expect" // verdicts that must come, "Streaming=Trusted Continuation=Demoted/TaskIdChangedOnContinuation"
	errandAnnotation = "demo.agentpeer.dev/errand" // what the two clients do there: answer, ask or cancel
	sdkAnnotation    = "demo.agentpeer.dev/sdk"    // the third-party server to start for it, see test/sdk
	failsAnnotation  = "demo.agentpeer.dev/card-trusting-client-fails"
)

// peer is one AgentPeer of the demo.
type peer struct {
	object *v1alpha1.AgentPeer
	says   string
	expect []expectation
	errand string
	sdk    string
	// fails: a client that trusts the card comes to grief here.
	fails bool
}

func (p peer) name() string { return p.object.Name }

// expectation is one verdict that must come.
type expectation struct {
	capability v1alpha1.CapabilityName
	state      v1alpha1.TrustState
	reason     v1alpha1.Reason // empty: any
}

func (d *stage) applyPeers(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(d.root, "hack", "demo", "peers", "*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, errors.New("no files"))
	}
	for _, f := range files {
		p, err := readPeer(f)
		if err != nil {
			return err
		}
		p.object.Namespace = peerNamespace
		if p.sdk != "" {
			if err := d.startSDKPeer(ctx, p); err != nil {
				return err
			}
		}
		if err := d.api.Create(ctx, p.object, client.FieldOwner("demo")); err != nil {
			return fmt.Errorf("applying %q: %w", f, err)
		}
		d.peers = append(d.peers, p)
	}
	return nil
}

func readPeer(path string) (peer, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return peer{}, err
	}
	p := peer{object: &v1alpha1.AgentPeer{}}
	if err := yaml.UnmarshalStrict(raw, p.object); err != nil {
		return peer{}, fmt.Errorf("reading %q: %w", path, err)
	}
	notes := p.object.Annotations
	p.says, p.errand, p.sdk = notes[saysAnnotation], notes[errandAnnotation], notes[sdkAnnotation]
	p.fails = notes[failsAnnotation] == "true"
	for _, word := range strings.Fields(notes[expectAnnotation]) {
		name, verdict, ok := strings.Cut(word, "=")
		if !ok {
			return peer{}, fmt.Errorf("reading %q: %s holds %q, want Capability=State or Capability=State/Reason", path, expectAnnotation, word)
		}
		state, reason, _ := strings.Cut(verdict, "/")
		p.expect = append(p.expect, expectation{v1alpha1.CapabilityName(name), v1alpha1.TrustState(state), v1alpha1.Reason(reason)})
	}
	return p, nil
}

// missing says which expected verdicts are not there (yet).
func (p peer) missing(s *v1alpha1.AgentPeerStatus) (list []string) {
	for _, e := range p.expect {
		c := capability(s, e.capability)
		if c == nil || c.State != e.state || e.reason != "" && c.Reason != e.reason {
			got := "nothing"
			if c != nil {
				got = fmt.Sprintf("%s/%s", c.State, c.Reason)
			}
			list = append(list, fmt.Sprintf("%s: %s is %s, want %s/%s", p.name(), e.capability, got, e.state, e.reason))
		}
	}
	return list
}

func capability(s *v1alpha1.AgentPeerStatus, name v1alpha1.CapabilityName) *v1alpha1.CapabilityStatus {
	for i := range s.Capabilities {
		if s.Capabilities[i].Name == name {
			return &s.Capabilities[i]
		}
	}
	return nil
}
