package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/controllers"
	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// protocolVersion is major.minor, with or without a patch number.
var protocolVersion = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,5})?$`)

// checkFlags are the flags of `agentpeer check`.
type checkFlags struct {
	rounds    int
	interval  time.Duration
	message   string
	wait      time.Duration
	probes    string
	output    string
	verbose   bool
	cardPath  string
	binding   string
	version   string
	urlFrom   string
	cidrs     []string
	httpHosts []string
	origins   []string
	identity  identityFlags

	callbackListen, callbackURL string
	// given tells whether a flag stands on the command line.
	given func(name string) bool
}

func newCheck() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Judge one agent now",
		Long: `Fetch the card of an agent, ask what it declares and what every agent owes, and say what came back.

The agent is sent real tasks. They cost what its model costs: five to fifteen a round.

Exit codes: 0 everything was honoured, 1 something was contradicted, 2 something could not be told,
3 the command line or a file cannot be used. A capability that needs a fixture and has none (see --probes)
does not count.`,
		Example: `  agentpeer check http://localhost:9001
  agentpeer check https://planner.example.com/agents/route --rounds 3 --message "ping" -o json
  agentpeer check https://planner.example.com --probes probes.yaml -v`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("got %d arguments, want one: the URL of the agent, such as http://localhost:9001", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.check(cmd, args[0]) },
	}
	fl := cmd.Flags()
	fl.IntVar(&f.rounds, "rounds", 1, "rounds to run, 1 to 100; a soft contradiction needs two of three to demote, an empty stream three in a row")
	fl.DurationVar(&f.interval, "interval", time.Second, "pause between two rounds")
	fl.DurationVar(&f.wait, "wait-deadline", 0, "how long to wait for the agent to ask for input (default 30s, as spec.deadlines.wait)")
	fl.StringVar(&f.message, "message", "", `text of the ordinary probe message (default "ping")`)
	fl.StringVar(&f.probes, "probes", "", "file with fixtures and timeouts, YAML or JSON in the shape of spec.probes; - reads standard input")
	fl.StringVarP(&f.output, "output", "o", "table", "table or json")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print every request and answer, and the account of every question, on standard error; with -o json also there")
	fl.StringVar(&f.cardPath, "card-path", "", "path of the card on the URL's origin (default: both well-known names below the URL)")
	fl.StringVar(&f.binding, "binding", "", "use only interfaces of this binding: JSONRPC, HTTP+JSON or GRPC")
	fl.StringVar(&f.version, "protocol-version", "", "use only interfaces of this protocol version, such as 1.0")
	fl.StringVar(&f.urlFrom, "url-from", "Card", "where the endpoint is taken from: Card, or Endpoint for cards that name an address only the agent knows")
	fl.StringSliceVar(&f.cidrs, "allow-cidrs", nil, "private or loopback ranges that other addresses named by the card may be in, such as 10.0.0.0/8")
	fl.StringSliceVar(&f.httpHosts, "allow-http-hosts", nil, "hosts that such other addresses may be asked at by http, names below them included, such as localhost")
	fl.StringSliceVar(&f.origins, "allow-origins", nil, "other origins that the card's interfaces may use, such as https://api.example.com")
	f.identity.bind(fl)
	fl.StringVar(&f.callbackListen, "callback-listen", "", "address to take webhooks on (default: any port of loopback for an agent on loopback, else none)")
	fl.StringVar(&f.callbackURL, "callback-url", "", "URL under which the agent reaches --callback-listen")
	return cmd
}

func (f *checkFlags) check(cmd *cobra.Command, rawURL string) error {
	f.given = cmd.Flags().Changed
	target, egress, policy, err := f.target(rawURL, cmd.InOrStdin())
	if err != nil {
		return err
	}
	var seen witness
	env := probe.Env{Egress: egress, Tokens: wire.NewTokens(), UserAgent: "agentpeer-check/" + version}
	if f.verbose {
		seen.start = time.Now()
		env.Trace = newTracer(cmd.ErrOrStderr(), &seen).print
	}
	receiver, stop, err := f.listen(target.URL)
	if err != nil {
		return err
	}
	defer stop()
	env.Receiver = receiver
	show := newProgress(cmd.ErrOrStderr())
	defer show.end()

	c := checked{target: target, policy: policy}
	for n := int64(1); n <= int64(f.rounds); n++ {
		if n > 1 && !pause(cmd.Context(), f.interval) {
			break
		}
		env.Progress = show.round(n, f.rounds)
		seen.begin(n)
		job := c.job(n)
		job.Interfaces = true
		report := probe.Run(cmd.Context(), env, job)
		c.fold(report)
		if f.verbose {
			printAccounts(cmd.ErrOrStderr(), seen.conclude(report.Round))
		}
	}
	show.end()
	if cmd.Context().Err() != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "interrupted: what follows rests on the rounds so far")
	}
	res := c.result(time.Now())
	if f.output == "json" {
		res.Evidence, res.Exchanges = seen.accounts, seen.exchanges
		err = printJSON(cmd.OutOrStdout(), res)
	} else {
		err = printTable(cmd.OutOrStdout(), res)
	}
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if code := res.exitCode(); code != exitHonored {
		return exit(code)
	}
	return nil
}

// target yields whom to ask and how strictly to judge. Its errors say what to write instead.
func (f *checkFlags) target(rawURL string, in io.Reader) (probe.Target, *probe.Egress, trust.Policy, error) {
	var none probe.Target
	if f.rounds < 1 || f.rounds > 100 {
		return none, nil, trust.Policy{}, fmt.Errorf("--rounds is %d, want 1 to 100", f.rounds)
	}
	if f.interval < 0 {
		return none, nil, trust.Policy{}, fmt.Errorf("--interval is %s, want 0s or more", f.interval)
	}
	if f.wait < 0 || f.wait > time.Hour || f.wait == 0 && f.given("wait-deadline") {
		return none, nil, trust.Policy{}, fmt.Errorf("--wait-deadline is %s, want more than 0s and at most 1h", f.wait)
	}
	if f.output != "table" && f.output != "json" {
		return none, nil, trust.Policy{}, fmt.Errorf("--output is %q, want table or json", f.output)
	}
	readers := f.identity.standardInput()
	if f.probes == "-" {
		readers = append(readers, "--probes")
	}
	if slices.Sort(readers); len(readers) > 1 {
		return none, nil, trust.Policy{}, fmt.Errorf("%s both read standard input: put one into a file", strings.Join(readers, " and "))
	}
	u, err := parseURL(rawURL)
	if err != nil {
		return none, nil, trust.Policy{}, err
	}
	t := probe.Target{Key: u.String(), ID: u.String(), URL: u, AllowHosts: []string{hostPort(u)}}

	var probes probesFile
	if f.probes != "" {
		if probes, err = readProbes(f.probes, in); err != nil {
			return none, nil, trust.Policy{}, err
		}
	}
	if f.message == "" && f.given("message") {
		return none, nil, trust.Policy{}, errors.New("--message is empty: give it a text, or leave the flag out for \"ping\"")
	}
	if f.message != "" {
		probes.Message = &v1alpha1.Message{Parts: []v1alpha1.Part{{Text: f.message}}}
	}
	var policy trust.Policy
	t.Fixtures, t.Timing, policy = controllers.Standalone(&probes.Probes)
	t.Identity = controllers.Identity(probes.TaskIdentity)
	t.PushReachable = probes.Push.Reachable
	policy.ConfirmInterval = 0 // rounds are as far apart as --interval says, and each counts
	if f.wait != 0 {
		t.Timing.Wait = f.wait
	}

	if f.cardPath != "" && (!strings.HasPrefix(f.cardPath, "/") || strings.HasPrefix(f.cardPath, "//")) {
		return none, nil, trust.Policy{}, fmt.Errorf("--card-path is %q, want a path that starts with one /, such as /v1/card", f.cardPath)
	}
	if f.version != "" && !protocolVersion.MatchString(f.version) {
		return none, nil, trust.Policy{}, fmt.Errorf("--protocol-version is %q, want a version such as 1.0 or 0.3", f.version)
	}
	if f.binding != "" && !card.Binding(f.binding) {
		return none, nil, trust.Policy{}, fmt.Errorf("--binding is %q, want JSONRPC, HTTP+JSON or GRPC", f.binding)
	}
	t.CardPath = f.cardPath
	t.Preference = card.Preference{Binding: f.binding, ProtocolVersion: f.version, Endpoint: u}
	switch f.urlFrom {
	case "Card":
	case "Endpoint":
		t.Preference.FromEndpoint = true
	default:
		return none, nil, trust.Policy{}, fmt.Errorf("--url-from is %q, want Card or Endpoint", f.urlFrom)
	}
	egress := wire.EgressPolicy{PlaintextHosts: f.httpHosts}
	for _, c := range f.cidrs {
		p, err := netip.ParsePrefix(c)
		if err != nil {
			return none, nil, trust.Policy{}, fmt.Errorf("--allow-cidrs holds %q, want an address range such as 10.0.0.0/8", c)
		}
		egress.Allow = append(egress.Allow, p)
	}
	for _, o := range f.origins {
		ou, err := url.Parse(o)
		if err != nil || (ou.Scheme != "http" && ou.Scheme != "https") || ou.Host == "" || strings.Trim(ou.Path, "/") != "" {
			return none, nil, trust.Policy{}, fmt.Errorf("--allow-origins holds %q, want scheme and host such as https://api.example.com", o)
		}
		t.AllowedOrigins = append(t.AllowedOrigins, ou.Scheme+"://"+ou.Host)
	}
	if err := f.identity.apply(&t, in); err != nil {
		return none, nil, trust.Policy{}, err
	}
	// What cannot be used shows before the first request.
	guard, err := wire.NewEgress(egress)
	if err != nil {
		return none, nil, trust.Policy{}, err
	}
	client, err := wire.NewClient(wire.Options{Egress: guard, AllowHosts: t.AllowHosts, Credentials: t.Credentials,
		RootCAs: t.RootCAs, ServerName: t.ServerName, SPKI: t.SPKI})
	if err != nil {
		return none, nil, trust.Policy{}, err
	}
	client.Close()
	return t, guard, policy, nil
}

// parseURL reads the address as spec.url is read: whatever that refuses, this refuses.
func parseURL(raw string) (*url.URL, error) {
	const such = "such as http://localhost:9001"
	if !strings.Contains(raw, "://") {
		if raw == "" {
			return nil, fmt.Errorf("the URL is empty, want one %s", such)
		}
		return nil, fmt.Errorf("%q is no URL with a host: write it with its scheme, such as http://%s", raw, strings.TrimLeft(raw, "/"))
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the URL: %w", err)
	}
	port, portErr := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the URL has scheme %q, want http or https", u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q has no host, want a URL %s", raw, such)
	case u.User != nil:
		return nil, errors.New("the URL holds a user name: pass credentials with --basic-file or --bearer-token-file")
	case u.Port() != "" && (portErr != nil || port == 0):
		return nil, fmt.Errorf("the URL has port %s, want 1 to 65535", u.Port())
	case strings.Contains(raw, "#"):
		return nil, errors.New("the URL has a fragment: leave out everything from the # on")
	}
	return u, nil
}

// hostPort of a URL, with the default port written out.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// readFile reads a file, or standard input for "-", up to a limit.
func readFile(path string, in io.Reader, limit int64) ([]byte, error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	raw, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%q is larger than %d bytes", path, limit)
	}
	return raw, nil
}

// pause is false if ctx ended it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
