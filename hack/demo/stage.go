package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
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

// Where config/default puts the operator.
const (
	operatorNamespace = "agentpeer-system"
	operatorAccount   = "agentpeer-operator"
	peerNamespace     = "demo"
)

// stage is everything that the demo has running.
type stage struct {
	root, work string
	out        io.Writer
	api        client.WithWatch
	config     *rest.Config
	kubeconfig string
	operator   *process
	peers      []peer
	undo       []func() error
}

// strike stops what was started, last first.
func (d *stage) strike() error {
	var errs []error
	for i := len(d.undo) - 1; i >= 0; i-- {
		errs = append(errs, d.undo[i]())
	}
	return errors.Join(errs...)
}

func (d *stage) bin(name string) string { return filepath.Join(d.root, "bin", name) }

func (d *stage) kubectl() string {
	return filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
}

// build compiles the programs; what is built already costs a second.
func (d *stage) build(ctx context.Context) error {
	for _, b := range []struct{ name, pkg string }{
		{"manager", "./cmd"}, {"agent", "./test/agent/cmd/agent"},
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", d.bin(b.name), b.pkg)
		cmd.Dir = d.root
		cmd.Stdout, cmd.Stderr = d.out, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building %s: %w", b.pkg, err)
		}
	}
	return nil
}

func (d *stage) startAPIServer(context.Context) error {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return errors.New("KUBEBUILDER_ASSETS is not set: start the demo with `make demo`, which builds etcd and kube-apiserver")
	}
	env := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	config, err := env.Start()
	if err != nil {
		return err
	}
	d.undo = append(d.undo, env.Stop)
	d.config = config
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	if d.api, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	d.kubeconfig = filepath.Join(d.work, "kubeconfig")
	return writeKubeconfig(d.kubeconfig, config, clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData})
}

func writeKubeconfig(path string, config *rest.Config, user clientcmdapi.AuthInfo) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["demo"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	k.AuthInfos["demo"] = &user
	k.Contexts["demo"] = &clientcmdapi.Context{Cluster: "demo", AuthInfo: "demo", Namespace: peerNamespace}
	k.CurrentContext = "demo"
	return clientcmd.WriteToFile(*k, path)
}

// install applies what a user would apply to a cluster. The Deployment stays without pods, as this API server has no nodes; the
// operator runs as a process instead, with the same rights.
func (d *stage) install(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, d.kubectl(), "--kubeconfig", d.kubeconfig, "apply", "--server-side", "-k", filepath.Join(d.root, "config", "default"))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply -k config/default: %w\n%s", err, text)
	}
	return d.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: peerNamespace}})
}

// startAgents starts the scripted agents.
func (d *stage) startAgents(ctx context.Context) error {
	file := filepath.Join(d.root, "hack", "demo", "agents.yaml")
	_, err := d.start(ctx, "agents", []string{d.bin("agent"), "-config", file, "-watch-stdin"}, nil, "ready")
	return err
}

func (d *stage) startOperator(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorAccount}}
	hour := int64(24 * 3600)
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}
	if err := d.api.SubResource("token").Create(ctx, account, token); err != nil {
		return fmt.Errorf("asking for a token of ServiceAccount %q: %w", operatorAccount, err)
	}
	path := filepath.Join(d.work, "operator.kubeconfig")
	if err := writeKubeconfig(path, d.config, clientcmdapi.AuthInfo{Token: token.Status.Token}); err != nil {
		return err
	}
	callbacks, err := ports.OnLoopback()
	if err != nil {
		return err
	}
	p, err := d.start(ctx, "operator", []string{d.bin("manager"), "--kubeconfig", path, "--allow-cidrs", "127.0.0.0/8", "--allow-http-hosts", "127.0.0.1",
		"--config", filepath.Join(d.root, "hack", "demo", "operator.yaml"),
		"--leader-elect", "--leader-election-namespace", operatorNamespace,
		"--callback-url", "http://" + callbacks, "--callback-bind-address", callbacks,
		"--health-probe-bind-address", "0"}, nil, "Starting workers")
	d.operator = p
	return err
}

// process is a program that the demo has running.
type process struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
	lines []string // said on standard output before it was ready
}

// start runs a program and waits until a line of its output says that it is ready. Its output goes to a file.
func (d *stage) start(ctx context.Context, name string, argv, env []string, ready string) (*process, error) {
	log, err := os.Create(filepath.Join(d.work, name+".log"))
	if err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	// A group of its own, so that Ctrl-C reaches us alone and we stop things in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := p.cmd.StdinPipe() // closes with us
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		_ = w.Close()
		close(p.ended)
	}()
	said := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		waiting := true
		for lines.Scan() {
			fmt.Fprintln(log, lines.Text())
			if waiting {
				p.lines = append(p.lines, lines.Text())
				if strings.Contains(lines.Text(), ready) {
					waiting = false
					close(said)
				}
			}
		}
		_, _ = io.Copy(log, r)
		_ = log.Close()
	}()
	d.undo = append(d.undo, func() error { _ = in.Close(); return p.stop() })
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	select {
	case <-said:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("starting %s: it ended: %w\n%s", name, p.err, tail(log.Name()))
	case <-timeout.C:
		return nil, fmt.Errorf("starting %s: not ready within a minute\n%s", name, tail(log.Name()))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stop asks a program to end and gives it time to clean up.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timeout := time.NewTimer(40 * time.Second)
	defer timeout.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timeout.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("stopping %s: it did not end within 40 s and was killed", p.name)
	}
}

// tail is the end of a log, for errors.
func tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
