package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// progressInterval is how long a build stays silent.
const progressInterval = 15 * time.Second

// build compiles devkube into dir and gives it its names.
func build(ctx context.Context, r *recipe, dir string) error {
	say("building etcd, kube-apiserver and kubectl %s with %s from Go modules", r.kubernetes, r.goVersion)
	say("once per version: 5 to 10 minutes on two cores with nothing cached, about one if Go's build cache has them")
	start := time.Now()
	if err := compile(ctx, r, filepath.Join(dir, "devkube")); err != nil {
		return fmt.Errorf("building devkube: %w", err)
	}
	for _, name := range programs {
		if err := os.Symlink("devkube", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	say("built in %s", time.Since(start).Round(time.Second))
	return nil
}

func compile(ctx context.Context, r *recipe, output string) error {
	args := append([]string{"build", "-v"}, r.args()...)
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", output, "./devkube")...)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	// An interrupt lets go remove its own temporary files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var seen progress
	stop := seen.report(time.Now())
	seen.follow(stderr)
	err = cmd.Wait()
	stop()
	return err
}

// progress counts what "go build -v" says it does.
type progress struct{ downloaded, compiled atomic.Int64 }

// follow reads the build's output to its end. Names of packages and modules are counted, anything else is an error
// message and passed on.
func (p *progress) follow(output io.Reader) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "go: downloading "):
			p.downloaded.Add(1)
		case line != "" && !strings.ContainsAny(line, " \t:"):
			p.compiled.Add(1)
		default:
			fmt.Fprintln(os.Stderr, line)
		}
	}
	_, _ = io.Copy(io.Discard, output) // a line beyond the buffer must not block the build
}

// report says where the build is at every interval, until stop is called.
func (p *progress) report(start time.Time) (stop func()) {
	ticker := time.NewTicker(progressInterval)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case now := <-ticker.C:
				say("%s: %s", now.Sub(start).Round(time.Second), p)
			}
		}
	}()
	return func() { ticker.Stop(); close(done) }
}

func (p *progress) String() string {
	downloaded, compiled := p.downloaded.Load(), p.compiled.Load()
	switch {
	case compiled > 0:
		return fmt.Sprintf("%d packages compiled of %d at most, then one long link", compiled, coldPackages)
	case downloaded > 0:
		return fmt.Sprintf("%d modules downloaded", downloaded)
	}
	return "looking up what is cached, or linking"
}

// coldPackages is how many packages a build compiles when nothing is cached; it need not be exact.
const coldPackages = 2400
