package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	only := flag.String("only", "", "run only the mutants whose names match this regular expression")
	verbose := flag.Bool("v", false, "print what each guard is for, and the output of tests that did not do what they should")
	timeout := flag.Duration("timeout", 4*time.Minute, "how long one run of tests may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, runner{out: os.Stdout, verbose: *verbose, timeout: *timeout}, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// run runs the mutants whose names match and tells whether all of them were caught.
func run(ctx context.Context, r runner, only string) (bool, error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return false, fmt.Errorf("reading -only: %w", err)
	}
	var chosen []mutant
	for _, m := range mutants {
		if match.MatchString(m.name) {
			if _, err := m.mutate(root); err != nil {
				return false, err
			}
			chosen = append(chosen, m)
		}
	}
	chosen = r.runnable(chosen)
	if err := r.baseline(ctx, chosen); err != nil {
		return false, err
	}
	caught, survived, broken := 0, 0, 0
	for _, m := range chosen {
		by, err := r.try(ctx, m)
		switch {
		case errors.Is(err, errBuild):
			broken++
			fmt.Fprintf(r.out, "%-28s BROKEN: %v\n", m.name, err)
		case err != nil:
			return false, fmt.Errorf("mutant %q: %w", m.name, err)
		case by == "":
			survived++
			fmt.Fprintf(r.out, "%-28s SURVIVED: %s\n", m.name, m.removes)
		default:
			caught++
			fmt.Fprintf(r.out, "%-28s caught by %s\n", m.name, by)
		}
	}
	fmt.Fprintf(r.out, "%d caught, %d survived\n", caught, survived)
	if broken > 0 {
		fmt.Fprintf(r.out, "%d broken\n", broken)
	}
	return survived+broken == 0, nil
}
