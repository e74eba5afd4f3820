// Command agent serves scripted A2A agents on loopback, each on a port of its own, until it is told to stop.
//
//	agent                                  one honest agent
//	agent -preset zombie-cancel -port 7001
//	agent -quirks empty-stream,legacy-path -generation 0.3
//	agent -config agents.yaml              many (see agent.File)
//	agent -list                            the presets and quirks there are
//
// It prints one line per agent, its id and its URL, then "ready". It ends on SIGINT or SIGTERM and, with -watch-stdin, when
// its standard input closes, so that it never outlives the process that started it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agentpeer/agentpeer/test/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

type options struct {
	host, config, preset, quirks, generation string
	port                                     int
	list, watch                              bool
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("agent", flag.ContinueOnError)
	f.StringVar(&o.host, "host", "127.0.0.1", "address to listen on")
	f.IntVar(&o.port, "port", 0, "port of a single agent; 0: any")
	f.StringVar(&o.config, "config", "", "YAML or JSON file of agents")
	f.StringVar(&o.preset, "preset", "", "preset of a single agent")
	f.StringVar(&o.quirks, "quirks", "", "quirks of a single agent, separated by commas")
	f.StringVar(&o.generation, "generation", "", "generation of a single agent: 1.0, 0.3, 0.2 or 0.1")
	f.BoolVar(&o.list, "list", false, "list presets and quirks")
	f.BoolVar(&o.watch, "watch-stdin", false, "end when standard input closes")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.list {
		list(out)
		return nil
	}
	specs, err := o.specs()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.watch {
		go func() {
			_, _ = io.Copy(io.Discard, in)
			cancel()
		}()
	}
	return serve(ctx, o.host, specs, out)
}

// specs are the agents to serve, counts written out.
func (o options) specs() ([]agent.Spec, error) {
	if o.config != "" {
		file, err := agent.Read(o.config)
		return spread(file.Agents), err
	}
	s := agent.Spec{Preset: o.preset, Port: o.port}
	if o.quirks != "" {
		s.Quirks = strings.Split(o.quirks, ",")
	}
	if o.generation != "" {
		s.Config = fmt.Appendf(nil, `{"generation":%q,"card":{"generation":%q}}`, o.generation, o.generation)
	}
	return spread([]agent.Spec{s}), nil
}

func spread(specs []agent.Spec) (all []agent.Spec) {
	for _, s := range specs {
		if s.ID == "" {
			s.ID = s.Preset
		}
		if s.ID == "" {
			s.ID = "agent"
		}
		if s.Count <= 1 {
			all = append(all, s)
			continue
		}
		for i := range s.Count {
			one := s
			one.ID += "-" + strconv.Itoa(i+1)
			if s.Port != 0 {
				one.Port += i
			}
			all = append(all, one)
		}
	}
	return all
}

func serve(ctx context.Context, host string, specs []agent.Spec, out io.Writer) error {
	failed := make(chan error, len(specs))
	for _, s := range specs {
		options, err := s.Options()
		if err != nil {
			return fmt.Errorf("making %q: %w", s.ID, err)
		}
		a := agent.New(options...)
		defer a.Close()
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(s.Port)))
		if err != nil {
			return fmt.Errorf("listening for %q: %w", s.ID, err)
		}
		server := &http.Server{Handler: a.Handler(), ReadHeaderTimeout: 10 * time.Second}
		defer server.Close()
		go func() { failed <- server.Serve(l) }()
		fmt.Fprintf(out, "%s http://%s\n", s.ID, l.Addr())
	}
	fmt.Fprintln(out, "ready")
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func list(out io.Writer) {
	fmt.Fprintln(out, "Presets:")
	for _, n := range agent.PresetNames() {
		fmt.Fprintf(out, "  %-22s %s\n", n, agent.Presets()[n])
	}
	fmt.Fprintln(out, "Quirks:")
	for _, n := range agent.QuirkNames() {
		fmt.Fprintf(out, "  %-22s %s\n", n, agent.Quirks()[n])
	}
}
