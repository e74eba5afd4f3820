package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// bareMain is the bare program: for each AgentPeer that appears it does the exchanges of a first round, judges nothing, and writes one
// status. It ends when all are done.
func bareMain(args []string) error {
	f := flag.NewFlagSet("bare", flag.ContinueOnError)
	kubeconfig := f.String("kubeconfig", "", "kubeconfig")
	n := f.Int("peers", 0, "how many AgentPeers to wait for")
	at := f.Int("concurrency", 1024, "how many at once")
	gets := f.Int("gets", 2, "GetTasks a peer")
	streams := f.Int("streams", 1, "streams a peer")
	sends := f.Int("sends", 1, "sends a peer")
	cards := f.Int("cards", 1, "card fetches a peer")
	statusFile := f.String("status", "", "file with the status to write for each peer")
	if err := f.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	api, err := client.NewWithWatch(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	w, err := api.Watch(ctx, &v1alpha1.AgentPeerList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer func() { w.Stop() }()
	var status v1alpha1.AgentPeerStatus
	raw, err := os.ReadFile(*statusFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &status); err != nil {
		return err
	}
	fmt.Println("ready")

	b := bare{status: status, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Second}}, api: api}
	seen := map[string]bool{}
	slots := make(chan struct{}, *at)
	failed := make(chan error, 1)
	var wait sync.WaitGroup
	for len(seen) < *n {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				w.Stop()
				if w, err = api.Watch(ctx, &v1alpha1.AgentPeerList{}, client.InNamespace(namespace)); err != nil {
					return err
				}
				continue
			}
			o, ok := e.Object.(*v1alpha1.AgentPeer)
			if !ok || seen[o.Name] {
				continue
			}
			seen[o.Name] = true
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				if err := b.round(ctx, o, *cards, *gets, *streams, *sends); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			})
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	wait.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	fmt.Println("done")
	_, _ = io.Copy(io.Discard, bufio.NewReader(nothing{ctx})) // until we are stopped, so that our CPU time can be read
	return nil
}

// nothing reads until its context ends.
type nothing struct{ ctx context.Context }

func (n nothing) Read([]byte) (int, error) { <-n.ctx.Done(); return 0, io.EOF }

type bare struct {
	status v1alpha1.AgentPeerStatus

	http *http.Client
	api  client.Client
}

func (b *bare) round(ctx context.Context, o *v1alpha1.AgentPeer, cards, gets, streams, sends int) error {
	base := strings.TrimSuffix(o.Spec.URL, "/")
	var card struct {
		SupportedInterfaces []struct{ URL string }
	}
	for range cards {
		if err := b.do(ctx, http.MethodGet, base+"/.well-known/agent-card.json", nil, &card); err != nil {
			return err
		}
	}
	if len(card.SupportedInterfaces) == 0 {
		return fmt.Errorf("the card of %q has no interface", base)
	}
	url := card.SupportedInterfaces[0].URL
	var task struct {
		Result struct {
			Task struct{ ID string }
		}
	}
	for range streams {
		id, err := b.stream(ctx, url)
		if err != nil {
			return err
		}
		task.Result.Task.ID = id
	}
	for range sends {
		if err := b.do(ctx, http.MethodPost, url, call("SendMessage", message()), &task); err != nil {
			return err
		}
	}
	for range gets {
		if err := b.do(ctx, http.MethodPost, url, call("GetTask", map[string]any{"id": task.Result.Task.ID}), nil); err != nil {
			return err
		}
	}
	return b.write(ctx, o)
}

func message() map[string]any {
	return map[string]any{"message": map[string]any{"messageId": fmt.Sprint(time.Now().UnixNano()), "role": "ROLE_USER",
		"parts": []any{map[string]any{"text": "ping"}}}}
}

func call(method string, params any) []byte {
	raw, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "1", "method": method, "params": params})
	return raw
}

func (b *bare) request(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	return b.http.Do(req)
}

func (b *bare) do(ctx context.Context, method, url string, body []byte, into any) error {
	resp, err := b.request(ctx, method, url, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func (b *bare) stream(ctx context.Context, url string) (id string, err error) {
	resp, err := b.request(ctx, http.MethodPost, url, call("SendStreamingMessage", message()))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e struct {
			Result struct {
				Task struct{ ID string }
			}
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return "", err
		}
		if e.Result.Task.ID != "" {
			id = e.Result.Task.ID
		}
	}
	return id, lines.Err()
}

// write applies the status that the operator gave such a peer.
func (b *bare) write(ctx context.Context, o *v1alpha1.AgentPeer) error {
	status := *b.status.DeepCopy()
	status.Target = o.Spec.URL
	next := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Status: status,
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AgentPeer"}, Spec: o.Spec}
	//nolint:staticcheck // a plain patch is what a bare program would write
	return b.api.Status().Patch(ctx, next, client.Apply, client.FieldOwner("bare"), client.ForceOwnership)
}
