package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// concurrency of the operator and of the bare program alike.
const concurrency = 1024

func concurrent() []string { return []string{"--concurrent-rounds", strconv.Itoa(concurrency)} }

// firstVerdict: a fleet of ordinary latency is applied at once.
func firstVerdict(ctx context.Context, b *bed, peers, repeat int) ([]figure, error) {
	var ratios, ours, bares, rss, p99 []float64
	for range repeat {
		r, err := b.race(ctx, "ordinary", "", peers)
		if err != nil {
			return nil, err
		}
		ratios, ours, bares = append(ratios, r.wall/r.bareWall), append(ours, r.wall), append(bares, r.bareWall)
		rss, p99 = append(rss, r.rss), append(p99, r.p99)
	}
	return []figure{
		{Name: "first_verdict_ratio", Value: median(ratios), Goal: 1.25, Must: 1.6,
			Of: map[string]float64{"operator_s": median(ours), "bare_s": median(bares), "peers": float64(peers)}},
		{Name: "rss_mb_at_" + strconv.Itoa(peers) + "_peers", Value: median(rss), Unit: "MiB"},
		{Name: "reconcile_p99_ms", Value: median(p99), Unit: "ms"},
	}, nil
}

// firstVerdictCPU: the same with agents that answer at once, in CPU seconds.
func firstVerdictCPU(ctx context.Context, b *bed, peers, repeat int) ([]figure, error) {
	var ratios, ours, bares []float64
	for range repeat {
		r, err := b.race(ctx, "honest", `, quirks: [burst]`, peers)
		if err != nil {
			return nil, err
		}
		ratios, ours, bares = append(ratios, r.cpu/r.bareCPU), append(ours, r.cpu), append(bares, r.bareCPU)
	}
	return []figure{{Name: "first_verdict_cpu_ratio", Value: median(ratios), Goal: 2, Must: 3,
		Of: map[string]float64{"operator_cpu_ms_per_peer": median(ours) / float64(peers) * 1000,
			"bare_cpu_ms_per_peer": median(bares) / float64(peers) * 1000, "peers": float64(peers)}}}, nil
}

// lap is one race of the operator with the bare program.
type lap struct{ wall, cpu, bareWall, bareCPU, rss, p99 float64 }

func (b *bed) race(ctx context.Context, preset, config string, n int) (l lap, err error) {
	agents, urls, err := b.agents(ctx, preset, preset, n, config)
	if err != nil {
		return l, err
	}
	defer agents.stop()
	operator, metrics, err := b.operator(ctx, concurrent()...)
	if err != nil {
		return l, err
	}
	idle, err := operator.cpu()
	if err != nil {
		operator.stop()
		return l, err
	}
	start := time.Now()
	err = b.verdicts(ctx, "p-", n, func() error { return b.apply(ctx, "p", urls, rare) })
	l.wall = time.Since(start).Seconds()
	cpu, err2 := operator.cpu()
	l.cpu = cpu - idle
	counts, err3 := exchanges(urls)
	written := filepath.Join(b.work, "status.json")
	err6 := b.saveStatus(ctx, "p-0", written)
	var err4, err5 error
	l.rss, err4 = operator.rss()
	l.p99, err5 = reconcileP99(metrics)
	operator.stop()
	if err := errors.Join(err, err2, err3, err4, err5, err6, b.clear(ctx)); err != nil {
		return l, err
	}

	per := func(method string) string {
		return strconv.Itoa(int(math.Round(float64(counts[method]) / float64(n))))
	}
	bare, err := b.start(ctx, "bare", "ready", filepath.Join(b.work, "bench"), "bare", "-kubeconfig", b.kubeconfig, "-peers", strconv.Itoa(n),
		"-concurrency", strconv.Itoa(concurrency), "-cards", per("card"), "-gets", per("GetTask"), "-streams", per("SendStreamingMessage"),
		"-sends", per("SendMessage"), "-status", written)
	if err != nil {
		return l, err
	}
	defer bare.stop()
	if idle, err = bare.cpu(); err != nil {
		return l, err
	}
	start = time.Now()
	if err := b.apply(ctx, "b", urls, rare); err != nil {
		return l, err
	}
	for said := false; !said; {
		select {
		case <-bare.ended:
			text, _ := os.ReadFile(bare.log)
			return l, fmt.Errorf("the bare program ended: %s", text)
		case <-time.After(5 * time.Millisecond):
			text, err := os.ReadFile(bare.log)
			if err != nil {
				return l, err
			}
			said = strings.Contains(string(text), "done")
		}
	}
	l.bareWall = time.Since(start).Seconds()
	if cpu, err = bare.cpu(); err != nil {
		return l, err
	}
	l.bareCPU = cpu - idle
	fmt.Fprintf(os.Stderr, "bench: %d %s peers: operator %.2f s, %.2f CPU s; bare %.2f s, %.2f CPU s; per peer %s cards, %s GetTask, %s streams, %s sends\n",
		n, preset, l.wall, l.cpu, l.bareWall, l.bareCPU, per("card"), per("GetTask"), per("SendStreamingMessage"), per("SendMessage"))
	return l, b.clear(ctx)
}

// saveStatus writes the status of an AgentPeer to a file.
func (b *bed) saveStatus(ctx context.Context, name, path string) error {
	var o v1alpha1.AgentPeer
	if err := b.api.Get(ctx, ctrlclient.ObjectKey{Namespace: namespace, Name: name}, &o); err != nil {
		return err
	}
	raw, err := json.Marshal(o.Status)
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}

// rare asks for long intervals, so that only first rounds are measured.
func rare(s *v1alpha1.AgentPeerSpec) {
	s.Probes.Behavior.Interval = &metav1.Duration{Duration: 24 * time.Hour}
	s.Probes.Reachability.Interval = &metav1.Duration{Duration: 24 * time.Hour}
	s.Trust.Duration = &metav1.Duration{Duration: 96 * time.Hour}
}

// exchanges sums what the agents were asked.
func exchanges(urls []string) (map[string]int, error) {
	sum := map[string]int{}
	for _, u := range urls {
		resp, err := http.Get(u + "/debug/agent")
		if err != nil {
			return nil, err
		}
		var c struct {
			Requests map[string]int `json:"requests"`
		}
		err = json.NewDecoder(resp.Body).Decode(&c)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		for k, v := range c.Requests {
			sum[k] += v
		}
	}
	return sum, nil
}

// isolation: a hundred healthy peers beside many that accept connections and never answer, over the same without them.
func isolation(ctx context.Context, b *bed, peers, repeat int) ([]figure, error) {
	const healthy = 100
	var ratios, beside, alone []float64
	for range repeat {
		with, err := b.healthy(ctx, healthy, peers)
		if err != nil {
			return nil, err
		}
		without, err := b.healthy(ctx, healthy, 0)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "bench: %d healthy peers: %.2f s beside %d hung ones, %.2f s alone\n", healthy, with, peers, without)
		ratios, beside, alone = append(ratios, with/without), append(beside, with), append(alone, without)
	}
	return []figure{{Name: "isolation_ratio", Value: median(ratios), Goal: 1.1, Must: 1.3,
		Of: map[string]float64{"beside_hung_s": median(beside), "alone_s": median(alone), "hung": float64(peers), "healthy": healthy}}}, nil
}

func (b *bed) healthy(ctx context.Context, n, hung int) (float64, error) {
	agents, urls, err := b.agents(ctx, "ordinary", "ordinary", n, "")
	if err != nil {
		return 0, err
	}
	defer agents.stop()
	operator, metrics, err := b.operator(ctx, concurrent()...)
	if err != nil {
		return 0, err
	}
	defer operator.stop()
	if hung > 0 {
		black, holes, err := b.agents(ctx, "hung", "hung", hung, "")
		if err != nil {
			return 0, err
		}
		defer black.stop()
		if err := b.apply(ctx, "hung", holes, nil); err != nil {
			return 0, err
		}
		// Wait until each of them is being asked, and status says so.
		if err := until(ctx, func() (bool, error) {
			n, err := sum(metrics, "agentpeer_status_writes_total")
			return n >= float64(hung), err
		}); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	err = b.verdicts(ctx, "p-", n, func() error { return b.apply(ctx, "p", urls, rare) })
	took := time.Since(start).Seconds()
	return took, errors.Join(err, b.clear(ctx))
}

// steady: nothing changes; what does a behaviour round cost the API server?
func steady(ctx context.Context, b *bed, _, _ int) ([]figure, error) {
	const n, interval, window = 50, 2 * time.Second, 24 * time.Second
	agents, urls, err := b.agents(ctx, "honest", "honest", n, "")
	if err != nil {
		return nil, err
	}
	defer agents.stop()
	config := filepath.Join(b.work, "operator.yaml")
	if err := os.WriteFile(config, []byte("floors:\n  reachability: {interval: 1s}\n  behavior: {interval: 1s, confirmInterval: 1s}\nceilings:\n  behavior: {maxTasksPerDay: 100000}\n"), 0o600); err != nil {
		return nil, err
	}
	operator, metrics, err := b.operator(ctx, "--config", config)
	if err != nil {
		return nil, err
	}
	defer operator.stop()
	if err := b.verdicts(ctx, "p-", n, func() error {
		return b.apply(ctx, "p", urls, func(s *v1alpha1.AgentPeerSpec) {
			s.Probes.Behavior.Interval = &metav1.Duration{Duration: interval}
			s.Probes.Behavior.MaxTasksPerDay = ptr.To[int32](100_000)
			s.Probes.Reachability.Interval = &metav1.Duration{Duration: interval / 2}
			s.Trust.Duration = &metav1.Duration{Duration: time.Hour}
		})
	}); err != nil {
		return nil, err
	}
	time.Sleep(3 * interval) // the first rounds are over
	read := func() (writes, behaviour, cheap float64, err error) {
		writes, err1 := b.requests(ctx)
		behaviour, err2 := sum(metrics, "agentpeer_rounds_total", `kind="Behavior"`)
		cheap, err3 := sum(metrics, "agentpeer_rounds_total", `kind="Reachability"`)
		return writes, behaviour, cheap, errors.Join(err1, err2, err3)
	}
	w0, b0, c0, err := read()
	if err != nil {
		return nil, err
	}
	time.Sleep(window)
	w1, b1, c1, err := read()
	if err != nil {
		return nil, err
	}
	if b1 == b0 {
		return nil, errors.New("no behaviour round ran")
	}
	return []figure{{Name: "steady_writes", Value: (w1 - w0) / (b1 - b0), Unit: "API writes per peer per behaviour round", Goal: 1, Must: 1.05,
		Of: map[string]float64{"writes": w1 - w0, "behaviour_rounds": b1 - b0, "cheap_rounds": c1 - c0, "peers": n}}}, b.clear(ctx)
}

// requests counts the writes to AgentPeers that the API server has seen.
func (b *bed) requests(ctx context.Context) (float64, error) {
	raw, err := b.metricsOfAPIServer(ctx)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, verb := range []string{"APPLY", "PATCH", "PUT", "POST"} {
		n, err := sumOf(raw, "apiserver_request_total", `resource="agentpeers"`, `verb="`+verb+`"`, `subresource="status"`)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// reconcileP99 interpolates the 99th percentile of the reconcile time from its histogram, in milliseconds.
func reconcileP99(metrics string) (float64, error) {
	raw, err := get("http://" + metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	type bucket struct{ le, n float64 }
	var buckets []bucket
	for line := range strings.Lines(raw) {
		if !strings.HasPrefix(line, "controller_runtime_reconcile_time_seconds_bucket") {
			continue
		}
		_, le, _ := strings.Cut(line, `le="`)
		le, _, _ = strings.Cut(le, `"`)
		f := strings.Fields(line)
		n, err := strconv.ParseFloat(f[len(f)-1], 64)
		if err != nil {
			return 0, err
		}
		bound := math.Inf(1)
		if le != "+Inf" {
			if bound, err = strconv.ParseFloat(le, 64); err != nil {
				return 0, err
			}
		}
		buckets = append(buckets, bucket{bound, n})
	}
	if len(buckets) == 0 {
		return 0, errors.New("reading the reconcile times: none")
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return int(math.Copysign(1, a.le-b.le)) })
	want := buckets[len(buckets)-1].n * 0.99
	low := bucket{}
	for _, b := range buckets {
		if b.n >= want {
			if math.IsInf(b.le, 1) || b.n == low.n {
				return low.le * 1000, nil
			}
			return (low.le + (b.le-low.le)*(want-low.n)/(b.n-low.n)) * 1000, nil
		}
		low = b
	}
	return low.le * 1000, nil
}

func sum(metrics, name string, labels ...string) (float64, error) {
	raw, err := get("http://" + metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	return sumOf(raw, name, labels...)
}

// sumOf adds up the series of a name that carry all labels.
func sumOf(raw, name string, labels ...string) (total float64, err error) {
lines:
	for line := range strings.Lines(raw) {
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(line, l) {
				continue lines
			}
		}
		f := strings.Fields(line)
		n, err := strconv.ParseFloat(f[len(f)-1], 64)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func get(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	return string(raw), err
}

func (b *bed) metricsOfAPIServer(ctx context.Context) (string, error) {
	c, err := b.http()
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(b.config.Host, "/")+"/metrics", nil)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("asking the API server for its metrics: status %d", resp.StatusCode)
	}
	return string(raw), err
}

func until(ctx context.Context, ok func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
