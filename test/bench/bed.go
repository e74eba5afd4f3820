package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/test/ports"
)

// namespace of the fleet.
const namespace = "bench"

// bed is the test bed: an API server with the CRD, and the programs to run against it.
type bed struct {
	root, work string
	env        *envtest.Environment
	config     *rest.Config
	api        client.WithWatch
	kubeconfig string
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func newBed(ctx context.Context) (*bed, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS is not set: run `make bench`, which builds etcd and kube-apiserver")
	}
	b := &bed{root: root}
	if b.work, err = os.MkdirTemp("", "agentpeer-bench-"); err != nil {
		return nil, err
	}
	for name, pkg := range map[string]string{"manager": "./cmd", "agent": "./test/agent/cmd/agent", "bench": "./test/bench"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(b.work, name), pkg)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("building %s: %w", pkg, err)
		}
	}
	b.env = &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join(root, "config", "crd", "bases")}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	if b.config, err = b.env.Start(); err != nil {
		return nil, fmt.Errorf("starting an API server: %w", err)
	}
	b.config.QPS = -1
	if b.api, err = client.NewWithWatch(b.config, client.Options{Scheme: newScheme()}); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.kubeconfig = filepath.Join(b.work, "kubeconfig")
	k := clientcmdapi.NewConfig()
	k.Clusters["b"] = &clientcmdapi.Cluster{Server: b.config.Host, CertificateAuthorityData: b.config.CAData}
	k.AuthInfos["b"] = &clientcmdapi.AuthInfo{ClientCertificateData: b.config.CertData, ClientKeyData: b.config.KeyData}
	k.Contexts["b"] = &clientcmdapi.Context{Cluster: "b", AuthInfo: "b"}
	k.CurrentContext = "b"
	if err := clientcmd.WriteToFile(*k, b.kubeconfig); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if err := b.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// http is a client of the API server.
func (b *bed) http() (*http.Client, error) { return rest.HTTPClientFor(b.config) }

func (b *bed) close() error {
	var err error
	if b.config != nil {
		err = b.env.Stop()
	}
	return errors.Join(err, os.RemoveAll(b.work))
}

// program is a program that runs beside us.
type program struct {
	cmd   *exec.Cmd
	lines []string
	log   string
	ended chan struct{}
}

// start runs a program until stop, and waits until a line of its output contains ready.
func (b *bed) start(ctx context.Context, log, ready string, argv ...string) (*program, error) {
	p := &program{cmd: exec.Command(argv[0], argv[1:]...), log: filepath.Join(b.work, log+".log"), ended: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = p.cmd.Wait(); _ = w.Close(); close(p.ended) }()
	said := make(chan struct{})
	go func() {
		s := bufio.NewScanner(r)
		s.Buffer(nil, 1<<20)
		for waiting := true; s.Scan(); {
			fmt.Fprintln(out, s.Text())
			if waiting {
				p.lines = append(p.lines, s.Text())
				if strings.Contains(s.Text(), ready) {
					waiting = false
					close(said)
				}
			}
		}
		_, _ = io.Copy(out, r)
		_ = out.Close()
	}()
	select {
	case <-said:
		return p, nil
	case <-p.ended:
		text, _ := os.ReadFile(p.log)
		return nil, fmt.Errorf("starting %s: it ended\n%s", filepath.Base(argv[0]), text)
	case <-time.After(time.Minute):
		p.stop()
		return nil, fmt.Errorf("starting %s: not ready within a minute", filepath.Base(argv[0]))
	case <-ctx.Done():
		p.stop()
		return nil, ctx.Err()
	}
}

func (p *program) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(45 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// cpu seconds that the program has used so far.
func (p *program) cpu() (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may hold spaces; utime and stime are the 14th and 15th fields, in hundredths of a second.
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("reading the CPU time of process %d: %d fields", p.cmd.Process.Pid, len(f))
	}
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100, errors.Join(err1, err2)
}

// rss in MiB.
func (p *program) rss() (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("reading the memory of a process: no VmRSS")
}

// agents serves n agents of a preset and yields their URLs.
func (b *bed) agents(ctx context.Context, name, preset string, n int, config string) (*program, []string, error) {
	file := filepath.Join(b.work, name+".yaml")
	text := fmt.Sprintf("agents:\n- {id: %s, preset: %s, count: %d%s}\n", name, preset, n, config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, nil, err
	}
	p, err := b.start(ctx, name, "ready", filepath.Join(b.work, "agent"), "-config", file)
	if err != nil {
		return nil, nil, err
	}
	var urls []string
	for _, line := range p.lines {
		if f := strings.Fields(line); len(f) == 2 && strings.HasPrefix(f[1], "http://") {
			urls = append(urls, f[1])
		}
	}
	if len(urls) != n {
		p.stop()
		return nil, nil, fmt.Errorf("starting %d agents: got %d", n, len(urls))
	}
	return p, urls, nil
}

// operator starts the operator with nothing to do yet; metrics is the address of its metrics.
func (b *bed) operator(ctx context.Context, args ...string) (p *program, metrics string, err error) {
	if metrics, err = ports.OnLoopback(); err != nil {
		return nil, "", err
	}
	argv := append([]string{filepath.Join(b.work, "manager"), "--kubeconfig", b.kubeconfig, "--allow-cidrs", "127.0.0.0/8", "--allow-http-hosts", "127.0.0.1",
		"--metrics-bind-address", metrics, "--metrics-secure=false", "--health-probe-bind-address", "0", "--kube-api-qps", "10000",
		"--connections-per-address", "10000"}, args...) // all agents stand at one address here
	p, err = b.start(ctx, "operator", "Starting workers", argv...)
	return p, metrics, err
}

// apply creates one AgentPeer per URL, all at once.
func (b *bed) apply(ctx context.Context, prefix string, urls []string, spec func(*v1alpha1.AgentPeerSpec)) error {
	return each(64, len(urls), func(i int) error {
		o := &v1alpha1.AgentPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", prefix, i)},
			Spec: v1alpha1.AgentPeerSpec{URL: urls[i]}}
		if spec != nil {
			spec(&o.Spec)
		}
		return b.api.Create(ctx, o)
	})
}

// clear deletes the fleet and waits until it is gone.
func (b *bed) clear(ctx context.Context) error {
	if err := b.api.DeleteAllOf(ctx, &v1alpha1.AgentPeer{}, client.InNamespace(namespace)); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	for {
		var list v1alpha1.AgentPeerList
		if err := b.api.List(ctx, &list, client.InNamespace(namespace)); err != nil || len(list.Items) == 0 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// verdicts waits until n AgentPeers whose name has the prefix have a streaming verdict.
func (b *bed) verdicts(ctx context.Context, prefix string, n int, start func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	w, err := b.api.Watch(ctx, &v1alpha1.AgentPeerList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer func() { w.Stop() }()
	failed := make(chan error, 1)
	go func() {
		if err := start(); err != nil {
			failed <- err
		}
	}()
	done := map[string]bool{}
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok { // the API server ends watches when a CRD settles; a new one begins with what is there
				w.Stop()
				if w, err = b.api.Watch(ctx, &v1alpha1.AgentPeerList{}, client.InNamespace(namespace)); err != nil {
					return err
				}
				continue
			}
			o, ok := e.Object.(*v1alpha1.AgentPeer)
			if !ok || !strings.HasPrefix(o.Name, prefix) {
				continue
			}
			for _, c := range o.Status.Capabilities {
				if c.Name == v1alpha1.CapabilityStreaming && c.State == v1alpha1.Trusted {
					done[o.Name] = true
				}
			}
			if len(done) == n {
				return nil
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("waiting for verdicts: %d of %d: %w", len(done), n, ctx.Err())
		}
	}
}

// each runs f for 0 to n-1, so many at once, and yields the first error.
func each(at, n int, f func(int) error) error {
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	slots := make(chan struct{}, at)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := f(i); err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	wait.Wait()
	return first
}
