package examples

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client"
	"github.com/agentpeer/agentpeer/test/apiserver"
)

// language is one orchestrator of examples/.
type language struct {
	name string
	// file of its program, which a test may change before it runs.
	file string
	// command that runs a program; the error says what to install.
	command func(file string) ([]string, error)
	// says turns its words into those that the tests expect; nil: they are those.
	says func(line string) string
	// bounds are how its program spells how long it waits for a quiet agent and for an errand, and how to write 2 s and 8 s.
	bounds, short string
}

// languages are those that can run here. What is missing fails the test, with what to install.
var languages = []language{
	{name: "Python", file: filepath.Join(apiserver.Root(), "examples", "python", "orchestrator.py"), command: python,
		bounds: "CALL, QUIET, HARD, MOST = 10, 30, 300,", short: "CALL, QUIET, HARD, MOST = 10, 2, 8,"},
	{name: "TypeScript", file: filepath.Join(apiserver.Root(), "bin", "examples", "typescript", "dist", "orchestrator.js"), command: node,
		bounds: "QUIET = 30_000, HARD = 300_000", short: "QUIET = 2_000, HARD = 8_000"},
	{name: "Go", file: filepath.Join(apiserver.Root(), "bin", "examples", "orchestrator"), command: compiled, says: func(line string) string {
		if strings.Contains(line, client.ErrPeerUnavailable.Error()) {
			return "Unavailable"
		}
		return strings.Replace(line, " completed", " TASK_STATE_COMPLETED", 1)
	}},
}

func compiled(file string) ([]string, error) { return []string{file}, compile() }

var compile = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-o", filepath.Join("bin", "examples", "orchestrator"), "./examples/go")
	cmd.Dir = apiserver.Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building examples/go: %w\n%s", err, out)
	}
	return nil
})

func python(file string) ([]string, error) {
	for _, name := range []string{"python3", "/usr/bin/python3"} { // the one in PATH may not be Debian's
		if exec.Command(name, "-c", "import kubernetes").Run() == nil {
			return []string{name, "-u", file}, nil
		}
	}
	return nil, fmt.Errorf("no python3 here has the package kubernetes: apt-get install python3-kubernetes (Debian, Ubuntu), or python3 -m pip install kubernetes")
}

func node(file string) ([]string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return nil, fmt.Errorf("node is missing: apt-get install nodejs npm (Debian, Ubuntu), or https://nodejs.org; then run make sdk")
	}
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("the TypeScript orchestrator is not built: run make sdk (%w)", err)
	}
	return []string{"node", file}, nil
}

// program is an orchestrator that runs.
type program struct {
	in    io.Writer
	cmd   *exec.Cmd
	out   chan string
	says  *lines
	ended chan struct{}
}

// start runs a language's orchestrator until the test ends.
func (l language) start(t *testing.T, kubeconfig string) *program {
	return l.run(t, l.file, kubeconfig, "LEDGER="+t.TempDir())
}

// startImpatient runs it with bounds of seconds in place of minutes.
func (l language) startImpatient(t *testing.T, kubeconfig string) *program {
	t.Helper()
	text, err := os.ReadFile(l.file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(l.bounds)) {
		t.Fatalf("%s does not say %q", l.file, l.bounds)
	}
	// Beside the program, so that it finds its packages.
	file := filepath.Join(filepath.Dir(l.file), "impatient-"+filepath.Base(t.TempDir())+filepath.Ext(l.file))
	if l.name == "Python" {
		file = filepath.Join(t.TempDir(), "impatient.py")
	}
	t.Cleanup(func() { _ = os.Remove(file) })
	if err := os.WriteFile(file, bytes.Replace(text, []byte(l.bounds), []byte(l.short), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return l.run(t, file, kubeconfig)
}

func (l language) run(t *testing.T, file, kubeconfig string, env ...string) *program {
	t.Helper()
	argv, err := l.command(file)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+kubeconfig), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{in: in, cmd: cmd, out: make(chan string, 100), says: &lines{}, ended: make(chan struct{})}
	cmd.Stderr = p.says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			if l.says != nil {
				p.out <- l.says(s.Text())
				continue
			}
			p.out <- s.Text()
		}
		_ = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = in.Close()
		select {
		case <-p.ended:
		case <-time.After(10 * time.Second):
			t.Error("it does not end with its standard input")
			_ = cmd.Process.Kill()
			<-p.ended
		}
		if t.Failed() {
			t.Logf("it said:\n%s", p.says)
		}
	})
	return p
}

// errand gives one errand and waits for what came of it.
func (p *program) errand(t *testing.T, url, text string) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, url, text); err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-p.out:
		return line
	case <-p.ended:
		t.Fatalf("it ended; it said:\n%s", p.says)
	case <-time.After(within):
		t.Fatalf("no answer within %s; it said:\n%s", within, p.says)
	}
	return ""
}

// lines keeps what a program says.
type lines struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
