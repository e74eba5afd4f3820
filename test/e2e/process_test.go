package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// operator is the operator's own program, running.
type operator struct {
	cmd *exec.Cmd
	log *logBuffer
	// ended is closed when the process has ended; err is how.
	ended chan struct{}
	err   error
}

// startOperator runs the operator for one namespace, so that stories leave each other alone, until the test ends.
// It says all it can, so that what must never be in a log would be seen there.
func (w world) startOperator(t *testing.T, kubeconfig, namespace string, flags ...string) *operator {
	t.Helper()
	o := &operator{log: &logBuffer{}, ended: make(chan struct{})}
	o.cmd = exec.Command(program(t, "manager"), append([]string{"--kubeconfig", kubeconfig, "--watch-namespaces", namespace,
		"--allow-cidrs", "127.0.0.0/8", "--allow-http-hosts", "127.0.0.1", "--health-probe-bind-address", "0", "--zap-log-level", "5",
		"--config", filepath.Join("testdata", "operator.yaml")}, flags...)...)
	o.cmd.Stdout, o.cmd.Stderr = o.log, o.log
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		o.err = o.cmd.Wait()
		close(o.ended)
	}()
	t.Cleanup(func() {
		o.kill()
		if t.Failed() {
			t.Logf("the operator's last words:\n%s", o.log.tail())
		}
		if strings.Contains(o.log.String(), "DATA RACE") || strings.Contains(o.log.String(), "panic:") {
			t.Error("the operator panicked or raced")
		}
	})
	return o
}

// kill ends the operator as a node that fails does.
func (o *operator) kill() {
	_ = o.cmd.Process.Kill() // it may have ended
	<-o.ended
}

// terminate asks the operator to end, as Kubernetes does.
func (o *operator) terminate(t *testing.T) {
	t.Helper()
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("sending SIGTERM: %v", err)
	}
}

// exit waits for the end and says how it was.
func (o *operator) exit(within time.Duration) error {
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-o.ended:
		return o.err
	case <-timeout.C:
		return fmt.Errorf("it still runs after %s", within)
	}
}

// peakMemory is the most resident memory the process has had, in MiB. The error says where the system does not tell.
func (o *operator) peakMemory() (int, error) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(o.cmd.Process.Pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")))
			return kb >> 10, err
		}
	}
	return 0, errors.New("reading the memory of a process: no VmHWM")
}

// logBuffer keeps what a process says.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// tail is the end, for the reader of a failed test.
func (l *logBuffer) tail() string {
	s := l.String()
	return s[max(0, len(s)-6000):]
}
