package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// figure is one line of output.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	// Goal is what we aim at, Must what a release needs; a value above Must makes the bench fail.
	Goal float64 `json:"goal,omitempty"`
	Must float64 `json:"must,omitempty"`
	// Of tells what the value was made of.
	Of map[string]float64 `json:"of,omitempty"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bare" {
		if err := bareMain(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bare:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "cards" {
		if err := cardsMain(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "cards:", err)
			os.Exit(1)
		}
		return
	}
	only := flag.String("only", "", "one of first, cpu, isolation, steady, reports, decide, cards, flip; empty: all")
	peers := flag.Int("peers", 1000, "how many peers the fleet has")
	repeat := flag.Int("repeat", 3, "how often ratios are measured; the median is printed")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, *only, *peers, *repeat); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, only string, peers, repeat int) (err error) {
	parts := []struct {
		name string
		run  func(context.Context, *bed, int, int) ([]figure, error)
	}{
		{"first", firstVerdict}, {"cpu", firstVerdictCPU}, {"isolation", isolation}, {"steady", steady}, {"reports", reportsAbsorbed}, {"decide", decide}, {"cards", cardRequests}, {"flip", flip},
	}
	found := only == ""
	for _, p := range parts {
		found = found || p.name == only
	}
	if !found {
		return fmt.Errorf("-only is %q, want first, cpu, isolation, steady, reports, decide, cards or flip", only)
	}
	b, err := newBed(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Fprintf(os.Stderr, "bench: %d cores, %s, %d peers\n", runtime.NumCPU(), runtime.Version(), peers)
	var missed []string
	out := json.NewEncoder(os.Stdout)
	for _, p := range parts {
		if only != "" && p.name != only {
			continue
		}
		start := time.Now()
		list, err := p.run(ctx, b, peers, repeat)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", p.name, err)
		}
		for _, f := range list {
			if err := out.Encode(f); err != nil {
				return err
			}
			if f.Must > 0 && f.Value > f.Must {
				missed = append(missed, fmt.Sprintf("%s is %.3g, must be at most %.3g", f.Name, f.Value, f.Must))
			}
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %.0f s\n", p.name, time.Since(start).Seconds())
	}
	if len(missed) > 0 {
		return errors.New(strings.Join(missed, "; "))
	}
	return nil
}

// moduleRoot is the folder of the repository.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "test", "bench", "doc.go")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("finding the repository: %q is not inside it", dir)
		}
	}
}
