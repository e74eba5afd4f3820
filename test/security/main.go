package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentpeer/agentpeer/test/gotest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "security:", err)
		os.Exit(2)
	case failed > 0:
		os.Exit(1)
	}
}

// options of a run.
type options struct {
	only    string
	timeout time.Duration
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("security", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.only, "only", "", "a regular expression: tests whose name has this after TestSecurity; families without a test are no failure then")
	f.DurationVar(&o.timeout, "timeout", 20*time.Minute, "how long the tests of one package may take")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	return o, nil
}

// run runs the tests and says how many things failed. An error means that they could not be run.
func run(ctx context.Context, args []string, out, progress io.Writer) (failed int, err error) {
	o, err := parse(args, progress)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(progress, "%6s  %s\n", time.Since(begun).Round(time.Second), fmt.Sprintf(format, args...))
	}
	packages, err := find(ctx)
	if err != nil {
		return 0, err
	}
	tests := gotest.Results{Ended: func(test, how string) { say("%s  %s", how, test) }}
	for _, g := range groups(packages) {
		say("building and running %d packages%s", len(g.packages), g.words)
		flags := append([]string{"-count=1", "-timeout", o.timeout.String(), "-run", "^" + prefix + pattern(o.only)}, g.flags...)
		if err := tests.Run(ctx, progress, append(flags, g.packages...)...); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	r := judge(&tests, rules{whole: o.only == "", assets: os.Getenv("KUBEBUILDER_ASSETS") != ""})
	r.Seconds = time.Since(begun).Round(time.Second).Seconds()
	return r.print(out)
}

func pattern(only string) string {
	if only == "" {
		return ""
	}
	return ".*(" + only + ")"
}
