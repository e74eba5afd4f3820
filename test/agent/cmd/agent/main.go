// Command agent serves scripted A2A agents on loopback, until it is told to stop.
//
//	agent                                  one honest agent
//	agent -preset zombie-cancel -port 7001
//	agent -preset ordinary -count 1000
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
	port, count                              int
	list, watch                              bool
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("agent", flag.ContinueOnError)
	f.StringVar(&o.host, "host", "127.0.0.1", "address to listen on")
	f.IntVar(&o.port, "port", 0, "port of a single agent; 0: any")
	f.IntVar(&o.count, "count", 1, "how many of a single agent, each on a port of its own")
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
	s := agent.Spec{Preset: o.preset, Port: o.port, Count: o.count}
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

// tenant is one agent and how it is announced.
type tenant struct {
	id    string
	agent *agent.Agent
}

// house is one listener and the agents behind it, told apart by their prefixes.
type house struct {
	port    int
	tenants []tenant
}

func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, t := range h.tenants {
		if strings.HasPrefix(r.URL.Path+"/", t.agent.Config().Prefix+"/") {
			t.agent.Handler().ServeHTTP(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

// build makes the agents and puts them into houses.
func build(specs []agent.Spec) ([]*house, error) {
	var houses []*house
	byPort := map[int]*house{}
	for _, s := range specs {
		options, err := s.Options()
		if err != nil {
			return nil, fmt.Errorf("making %q: %w", s.ID, err)
		}
		h := byPort[s.Port]
		if h == nil || s.Port == 0 {
			h = &house{port: s.Port}
			byPort[s.Port] = h
			houses = append(houses, h)
		}
		one := agent.New(options...)
		for _, other := range h.tenants {
			if other.agent.Config().Prefix == one.Config().Prefix {
				return nil, fmt.Errorf("making %q: port %d and prefix %q are taken by %q", s.ID, s.Port, one.Config().Prefix, other.id)
			}
		}
		h.tenants = append(h.tenants, tenant{s.ID, one})
	}
	return houses, nil
}

func serve(ctx context.Context, host string, specs []agent.Spec, out io.Writer) error {
	houses, err := build(specs)
	if err != nil {
		return err
	}
	failed := make(chan error, len(houses))
	for _, h := range houses {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(h.port)))
		if err != nil {
			return fmt.Errorf("listening for %q: %w", h.tenants[0].id, err)
		}
		server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, Protocols: agent.Protocols()}
		defer func() { _ = server.Close() }()
		go func() { failed <- server.Serve(l) }()
		for _, t := range h.tenants {
			defer t.agent.Close()
			fmt.Fprintf(out, "%s http://%s%s\n", t.id, l.Addr(), t.agent.Config().Prefix)
		}
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
