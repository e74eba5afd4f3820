// Command main is the operator: it watches AgentPeers, probes the agents they name and writes what it found to status.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/controllers"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// version is set at link time.
var version = "dev"

// options are the flags.
type options struct {
	metricsAddress, probeAddress string
	secureMetrics                bool
	leaderElect                  bool
	leaderElectionNamespace      string
	allowCIDRs, denyCIDRs        string
	allowHTTPHosts, denyHosts    string
	connectionsPerAddress        int
	configFile                   string
	watchNamespaces              string
	concurrentRounds             int
	concurrentReconciles         int
	roundsPerOrigin              int
	peersPerNamespace            int
	shutdownTimeout              time.Duration
	qps                          float64
	callbackURL, callbackAddress string
	callbackPeers                string
	cardAddress, cardCertDir     string
	cardInsecure                 bool
	reportPolicy                 string
	showVersion                  bool
	zap                          zap.Options
}

func main() {
	var o options
	o.bind(flag.CommandLine)
	flag.Parse()
	if o.showVersion {
		fmt.Println(versionText())
		return
	}
	muteStandardLog()
	ctrl.SetLogger(newLogger(o.zap))
	if err := start(o); err != nil {
		ctrl.Log.WithName("setup").Error(err, "The operator stopped")
		os.Exit(1)
	}
}

// muteStandardLog silences the standard library's own log. net/http reports bytes there that nobody asked for on an idle
// connection, and a peer chose those bytes. We log through logr alone.
func muteStandardLog() { log.SetOutput(io.Discard) }

func (o *options) bind(f *flag.FlagSet) {
	f.StringVar(&o.metricsAddress, "metrics-bind-address", "0",
		"Address of the metrics endpoint, such as :8443. 0 turns it off.")
	f.BoolVar(&o.secureMetrics, "metrics-secure", true,
		"Serve metrics over HTTPS, to callers that Kubernetes authenticates and authorizes.")
	f.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz. 0 turns them off.")
	f.BoolVar(&o.leaderElect, "leader-elect", false, "Let only one of several replicas work.")
	f.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", "",
		"Namespace of the leader's Lease; empty: the one the operator runs in.")
	f.StringVar(&o.allowCIDRs, "allow-cidrs", "",
		"Comma-separated address ranges that may be dialled although they are private or loopback, such as 10.0.0.0/8.")
	f.StringVar(&o.allowHTTPHosts, "allow-http-hosts", "",
		"Comma-separated hosts that a spec.url may lead to by http, names below them included, such as corp.example.com. Others need https.")
	f.StringVar(&o.denyCIDRs, "deny-cidrs", "",
		"Comma-separated address ranges that are never dialled, whatever allows them: those of nodes and of the control plane, such as 10.0.0.0/24.")
	f.StringVar(&o.denyHosts, "deny-hosts", "",
		"Comma-separated hosts that are never asked, names below them included, such as internal.example.com.")
	f.IntVar(&o.connectionsPerAddress, "connections-per-address", 256,
		"How many connections may be open at once to one address, however many names lead to it.")
	f.StringVar(&o.configFile, "config", "", "File with defaults, floors and ceilings of probe and trust settings (YAML).")
	f.StringVar(&o.watchNamespaces, "watch-namespaces", "", "Comma-separated namespaces to watch; empty: all.")
	f.IntVar(&o.concurrentRounds, "concurrent-rounds", 1024, "How many rounds may begin beside each other; slow ones give way to others.")
	f.IntVar(&o.concurrentReconciles, "concurrent-reconciles", 8, "How many AgentPeers are reconciled at once.")
	f.IntVar(&o.roundsPerOrigin, "rounds-per-origin", 4, "How many rounds may run at once against one scheme, host and port.")
	f.IntVar(&o.peersPerNamespace, "peers-per-namespace", 0,
		"How many AgentPeers of one namespace may be asked at once, slow ones included, so that no tenant takes all places; "+
			"0: as many as --concurrent-rounds, which is a quarter of all that may be asked at once.")
	f.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 20*time.Second,
		"How long to wait on SIGTERM for rounds to cancel the tasks they began. The lease is released after that.")
	f.Float64Var(&o.qps, "kube-api-qps", 100, "Requests a second to the API server; bursts may be twice that.")
	f.StringVar(&o.callbackURL, "callback-url", "",
		"URL under which agents reach the webhook receiver, https if agents are outside; empty: push notifications are not judged.")
	f.StringVar(&o.callbackAddress, "callback-bind-address", ":8083", "Address of the webhook receiver, which listens only if --callback-url is set.")
	f.StringVar(&o.callbackPeers, "callback-peers", "",
		"DNS name that has the addresses of all replicas, to pass webhooks on to the one that asked for them; POD_IP is the replica's own.")
	f.StringVar(&o.cardAddress, "card-bind-address", "0",
		"Address of the reconciled cards, such as :8084. 0 turns them off. Every replica serves them.")
	f.StringVar(&o.cardCertDir, "card-cert-dir", "",
		"Folder with tls.crt and tls.key for the reconciled cards, read again when they are replaced; empty: a certificate made at the start, which no client can verify.")
	f.BoolVar(&o.cardInsecure, "card-insecure", false,
		"Serve reconciled cards without TLS: whoever sees the network then reads cards and the tokens of those who ask.")
	f.StringVar(&o.reportPolicy, "report-policy", "agentpeer-"+trustv1alpha1.ReportPolicyName,
		"Name of the ValidatingAdmissionPolicy, and of its binding, that prove who writes AgentPeerReports; without them, or empty: reports are ignored.")
	f.BoolVar(&o.showVersion, "version", false, "Print the version and exit.")
	o.zap.BindFlags(f)
}

func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "dev" && info.Main.Version != "" {
		return "agentpeer-operator " + info.Main.Version
	}
	return "agentpeer-operator " + version
}

// start runs the operator on the cluster of the kubeconfig until it is told to stop.
func start(o options) error {
	kubeconfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return run(ctrl.SetupSignalHandler(), kubeconfig, o)
}

// run wires everything and works until ctx ends. Then the Runner cancels the tasks it began, and the lease is released.
func run(ctx context.Context, kubeconfig *rest.Config, o options) error {
	log := ctrl.Log.WithName("setup")
	config, err := controllers.LoadConfig(o.configFile)
	if err != nil {
		return err
	}
	self, audiences := ownToken(kubeconfig)
	if err := config.ServiceAccountTokens.RefuseAudiences(append(audiences, kubeconfig.Host)...); err != nil {
		return fmt.Errorf("reading the configuration %q: %w", o.configFile, err)
	}
	egress, err := newEgress(ctx, kubeconfig, o, log)
	if err != nil {
		return err
	}
	mgr, err := newManager(kubeconfig, o)
	if err != nil {
		return err
	}
	serving, err := addServers(mgr, o)
	if err != nil {
		return err
	}
	defer serving.Close()
	env := probe.Env{Egress: egress, Tokens: wire.NewTokens(), UserAgent: "agentpeer-operator/" + strings.TrimPrefix(versionText(), "agentpeer-operator ")}
	receiver, err := newReceiver(o, metrics.Registry)
	if err != nil {
		return err
	}
	if receiver != nil {
		defer func() { _ = receiver.Close() }()
		if err := mgr.Add(receiver); err != nil {
			return fmt.Errorf("adding the webhook receiver: %w", err)
		}
		env.Receiver = receiver
	}
	runner := probe.NewRunner(probe.RunnerOptions{
		Env:          env,
		Rounds:       o.concurrentRounds,
		PerOrigin:    o.roundsPerOrigin,
		PerNamespace: o.peersPerNamespace,
		StopTimeout:  o.shutdownTimeout,
		Log:          ctrl.Log.WithName("runner"),
	})
	if err := mgr.Add(runner); err != nil {
		return fmt.Errorf("adding the runner: %w", err)
	}
	controllers.RegisterBacklog(metrics.Registry, func() int { return runner.Stats().Queued })
	reconciler := &controllers.AgentPeerReconciler{
		Client:   mgr.GetClient(),
		Recorder: mgr.GetEventRecorder("agentpeer"),
		Runner:   runner,
		Config:   config,
		Egress:   egress,
		Self:     self,
		Metrics:  controllers.NewMetrics(metrics.Registry),
		Webhooks: receiver != nil,

		ReportPolicy: o.reportPolicy,
	}
	if err := reconciler.SetupWithManager(mgr, controllers.SetupOptions{Concurrent: o.concurrentReconciles}); err != nil {
		return fmt.Errorf("setting up the AgentPeer controller: %w", err)
	}
	cards := controllers.CardsOptions{Config: config, Env: env, Self: self}
	if err := serving.addCards(mgr, o, cards, metrics.Registry, log); err != nil {
		return err
	}
	log.Info("Starting the operator", "version", versionText(), "allowCIDRs", o.allowCIDRs, "denyCIDRs", o.denyCIDRs, "denyHosts", o.denyHosts,
		"allowHTTPHosts", o.allowHTTPHosts, "watchNamespaces", o.watchNamespaces)
	return mgr.Start(ctx)
}

func newManager(base *rest.Config, o options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(trustv1alpha1.AddToScheme(scheme))

	kubeconfig := rest.CopyConfig(base)
	kubeconfig.QPS, kubeconfig.Burst = float32(o.qps), int(2*o.qps)
	kubeconfig.UserAgent = "agentpeer-operator"

	// The lease has a connection of its own, so that a storm of status writes cannot starve its renewal.
	leaseConfig := *kubeconfig
	leaseConfig.QPS, leaseConfig.Burst = 5, 10
	graceful := o.shutdownTimeout + 10*time.Second

	mgr, err := ctrl.NewManager(kubeconfig, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(o.watchNamespaces),
		Client:                        controllers.ClientOptions(),
		Metrics:                       metricsserver.Options{BindAddress: "0"}, // addServers has our own, and one for health
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              "operator.trust.agentpeer.dev",
		LeaderElectionNamespace:       o.leaderElectionNamespace,
		LeaderElectionConfig:          &leaseConfig,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &graceful,
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	return mgr, nil
}

func cacheOptions(namespaces string) cache.Options {
	o := controllers.CacheOptions()
	for _, name := range split(namespaces) {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[name] = cache.Config{}
	}
	return o
}

func split(list string) []string {
	var out []string
	for _, s := range strings.Split(list, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// cacheSynced is ready once the informers have synced.
func cacheSynced(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("waiting for the cache to sync")
		}
		return nil
	}
}
