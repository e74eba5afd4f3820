package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/term"
	ctrl "sigs.k8s.io/controller-runtime"
)

// settleWithin bounds how long verdicts may take.
const settleWithin = 4 * time.Minute

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := demo(ctx, os.Stdout, os.Getenv("DEMO_EXIT") != "" && os.Getenv("DEMO_EXIT") != "0")
	if ctx.Err() != nil {
		return // the user had enough
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, out io.Writer, exit bool) (err error) {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "agentpeer-demo-")
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if keep {
			fmt.Fprintf(out, "The operator's log is kept: %s\n", filepath.Join(work, "operator.log"))
			return
		}
		_ = os.RemoveAll(work)
	}()
	d := &stage{root: root, work: work, out: out}
	// Everything that was started is stopped, last first, whatever happens.
	defer func() { err = errors.Join(err, d.strike()) }()

	for _, step := range []struct {
		says string
		do   func(context.Context) error
	}{
		{"Building the operator and the agents", d.build},
		{"Starting an API server (etcd and kube-apiserver)", d.startAPIServer},
		{"Installing the CRD, the roles and the rest of config/default", d.install},
		{"Starting the agents", d.startAgents},
		{"Starting the operator, with its ServiceAccount's rights", d.startOperator},
		{"Applying hack/demo/peers/*.yaml", d.applyPeers},
	} {
		start := time.Now()
		fmt.Fprintf(out, "==> %s ...\n", step.says)
		if err := step.do(ctx); err != nil {
			keep = d.operator != nil
			return fmt.Errorf("%s: %w", strings.ToLower(step.says[:1])+step.says[1:], err)
		}
		fmt.Fprintf(out, "    %.1f s\n", time.Since(start).Seconds())
	}

	fmt.Fprintf(out, "\nIntervals are short here so that you need not wait: a round every 10 s, trust that lasts 60 s.\n"+
		"By default it is one round an hour, and trust lasts three.\n\n")
	if err := d.watch(ctx); err != nil {
		keep = true
		return err
	}
	if err := d.explain(ctx); err != nil {
		return err
	}
	if err := d.compare(ctx); err != nil {
		keep = true
		return err
	}
	fmt.Fprintf(out, "\nLook around:\n  export KUBECONFIG=%s\n  %s get agentpeers -o wide\n  %s get agentpeer worker-3 -o yaml\n  %s explain agentpeer.status.capabilities\n",
		d.kubeconfig, d.kubectl(), d.kubectl(), d.kubectl())
	if exit {
		fmt.Fprintln(out, "\nDEMO_EXIT is set: cleaning up.")
		return nil
	}
	fmt.Fprintln(out, "\nEverything keeps running until you press Ctrl-C.")
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "\nCleaning up.")
	case <-d.operator.ended:
		keep = true
		return errors.New("the operator ended by itself")
	}
	return nil
}

// moduleRoot is the folder of go.mod, from wherever the demo was started.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "hack", "demo", "peers")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("finding the repository: %q is not inside it", dir)
		}
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
