package sdk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Env names the environment variable for the folder of the built peers; default bin/sdk of this repository.
const Env = "AGENTPEER_SDK_PEERS"

// startTimeout bounds how long a peer may take to print its URL; Node on a busy machine takes some seconds.
const startTimeout = 60 * time.Second

// Peer is one server that can be started.
type Peer struct {
	// Name is "a2a-go-2.3.1" and the like: the SDK and its exact version, and "-rest" and the like where its card lists another binding
	// than JSON-RPC.
	Name string
	// Generation of the protocol it speaks.
	Generation string
	// CardPath is where it serves its card.
	CardPath string
	// Binding that its card lists, by the card's name.
	Binding string
	// program is the SDK's, and flag the binding as it knows it; empty: the name, and JSON-RPC.
	program, flag string
	node          bool
}

// Peers lists the servers there are, newest protocol first, as they speak JSON-RPC.
func Peers() []Peer {
	return []Peer{
		{Name: "a2a-go-2.3.1", Generation: "1.0", CardPath: cardPath, Binding: "JSONRPC"},
		{Name: "a2a-js-1.3.0", Generation: "1.0", CardPath: cardPath, Binding: "JSONRPC", node: true},
		{Name: "a2a-go-0.3.15", Generation: "0.3", CardPath: cardPath, Binding: "JSONRPC"},
		{Name: "a2a-js-0.3.13", Generation: "0.3", CardPath: cardPath, Binding: "JSONRPC", node: true},
		{Name: "a2a-js-0.2.5", Generation: "0.2", CardPath: "/.well-known/agent.json", Binding: "JSONRPC", node: true},
	}
}

// OtherBindings lists the same servers as they speak another binding, where the SDK can.
func OtherBindings() []Peer {
	return []Peer{
		{Name: "a2a-go-2.3.1-rest", Generation: "1.0", CardPath: cardPath, Binding: "HTTP+JSON", program: "a2a-go-2.3.1", flag: "rest"},
		{Name: "a2a-js-1.3.0-rest", Generation: "1.0", CardPath: cardPath, Binding: "HTTP+JSON", program: "a2a-js-1.3.0", flag: "rest", node: true},
		{Name: "a2a-go-2.3.1-grpc", Generation: "1.0", CardPath: cardPath, Binding: "GRPC", program: "a2a-go-2.3.1", flag: "grpc"},
		{Name: "a2a-js-1.3.0-grpc", Generation: "1.0", CardPath: cardPath, Binding: "GRPC", program: "a2a-js-1.3.0", flag: "grpc", node: true},
		{Name: "a2a-js-0.3.13-grpc", Generation: "0.3", CardPath: cardPath, Binding: "GRPC", program: "a2a-js-0.3.13", flag: "grpc", node: true},
		{Name: "a2a-go-0.3.15-grpc", Generation: "0.3", CardPath: cardPath, Binding: "GRPC", program: "a2a-go-0.3.15", flag: "grpc"},
		{Name: "a2a-js-0.3.13-rest", Generation: "0.3", CardPath: cardPath, Binding: "HTTP+JSON", program: "a2a-js-0.3.13", flag: "rest", node: true},
	}
}

const cardPath = "/.well-known/agent-card.json"

// args are the program to run and its arguments.
func (p Peer) args() (program string, args []string) {
	if program = p.program; program == "" {
		program = p.Name
	}
	if p.flag != "" {
		args = []string{"-binding", p.flag}
	}
	return program, args
}

// ErrNotBuilt says that the peer's program is not in the folder.
var ErrNotBuilt = errors.New("not built: run make sdk")

// Folder is where the built peers are looked for.
func Folder() string {
	if dir := os.Getenv(Env); dir != "" {
		return dir
	}
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "bin", "sdk")
}

// Start starts a peer by name and returns its base URL, without a slash at the end. It runs until stop is called or ctx
// ends, and never outlives this process: it ends when its standard input closes. Errors name what is missing.
func Start(ctx context.Context, name string) (url string, stop func(), err error) {
	command, err := command(ctx, name)
	if err != nil {
		return "", nil, err
	}
	stdin, err := command.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	var log tail
	command.Stderr = &log
	if err := command.Start(); err != nil {
		return "", nil, fmt.Errorf("starting %q: %w", name, err)
	}
	stop = sync.OnceFunc(func() {
		_ = stdin.Close()
		_ = command.Wait()
	})
	url, err = firstLine(stdout)
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("starting %q: %w; it said: %s", name, err, log.String())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return url, stop, nil
}

func command(ctx context.Context, name string) (*exec.Cmd, error) {
	var c *exec.Cmd
	for _, p := range append(Peers(), OtherBindings()...) {
		program, args := p.args()
		switch {
		case p.Name != name:
			continue
		case p.node:
			node, err := exec.LookPath("node")
			if err != nil {
				return nil, fmt.Errorf("starting %q: node is missing: %w", name, ErrNotBuilt)
			}
			c = exec.CommandContext(ctx, node, filepath.Join(Folder(), "a2a-js", program+".mjs"))
			c.Path, c.Args[0] = node, "node"
			if _, err := os.Stat(c.Args[1]); err != nil {
				return nil, fmt.Errorf("starting %q from %q: %w", name, Folder(), ErrNotBuilt)
			}
		default:
			c = exec.CommandContext(ctx, filepath.Join(Folder(), program))
			if _, err := os.Stat(c.Path); err != nil {
				return nil, fmt.Errorf("starting %q from %q: %w", name, Folder(), ErrNotBuilt)
			}
		}
		c.Args = append(c.Args, args...)
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = 5 * time.Second
		return c, nil
	}
	return nil, fmt.Errorf("starting %q: no such peer", name)
}

// firstLine is the URL that a peer prints when it listens.
func firstLine(r io.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(r).ReadString('\n')
		got <- result{strings.TrimSpace(line), err}
	}()
	select {
	case g := <-got:
		if g.err == nil && !strings.HasPrefix(g.line, "http://127.0.0.1:") {
			return "", errors.New("the first line is not a URL on loopback")
		}
		return g.line, g.err
	case <-time.After(startTimeout):
		return "", fmt.Errorf("no URL within %s", startTimeout)
	}
}

// tail keeps the last of what a peer writes to standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if n := len(t.text) - 2000; n > 0 {
		t.text = t.text[n:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
