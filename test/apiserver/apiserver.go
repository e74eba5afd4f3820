package apiserver

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// Server is a running API server.
type Server struct {
	// Config connects as a cluster administrator, without client-side rate limits. Copy it before changing it.
	Config *rest.Config
	// Client reads and writes without a cache.
	Client client.Client
	// Scheme knows the kinds of Kubernetes and of this project.
	Scheme *k8sruntime.Scheme

	env        *envtest.Environment
	kubectl    string
	kubeconfig string
}

// shared is the server of this test package. It is nil until a test asks for it.
var shared struct {
	sync.Mutex
	managed bool
	server  *Server
	err     error
}

// Main runs the tests of a package, stops the server that they may have started, and exits. Call it from TestMain.
func Main(m *testing.M) {
	shared.managed = true
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// For returns the server of this test package and starts it if need be, which takes about five seconds. Under -short it
// skips the test.
func For(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an API server: run make test")
	}
	shared.Lock()
	defer shared.Unlock()
	if !shared.managed {
		t.Fatal("starting an API server: nothing would stop it; call apiserver.Main from TestMain")
	}
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = start()
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// start brings up etcd and kube-apiserver and installs the CRDs.
func start() (*Server, error) {
	assets, err := assetsFolder()
	if err != nil {
		return nil, err
	}
	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	s := &Server{Scheme: scheme, kubectl: filepath.Join(assets, "kubectl")}
	s.env = &envtest.Environment{
		Scheme:                   scheme,
		CRDDirectoryPaths:        []string{filepath.Join(Root(), "config", "crd", "bases")},
		ErrorIfCRDPathMissing:    true,
		BinaryAssetsDirectory:    assets,
		ControlPlaneStartTimeout: 90 * time.Second, // a loaded machine is slow to start one
		ControlPlaneStopTimeout:  60 * time.Second,
	}
	if s.Config, err = s.env.Start(); err != nil {
		return nil, fmt.Errorf("starting an API server from %q: %w", assets, err)
	}
	s.Config.QPS = -1
	if s.Client, err = client.New(s.Config, client.Options{Scheme: scheme}); err == nil {
		err = s.writeKubeconfig()
	}
	if err != nil {
		_ = s.env.Stop() // the first error says more
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return s, nil
}

// assetsFolder finds the binaries, or says how to get them.
func assetsFolder() (string, error) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		return "", fmt.Errorf("KUBEBUILDER_ASSETS is not set: run make test, or export KUBEBUILDER_ASSETS=$(make -s assets)")
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(assets, name)); err != nil {
			return "", fmt.Errorf("looking for %s in KUBEBUILDER_ASSETS: %w", name, err)
		}
	}
	return filepath.Abs(assets)
}

func (s *Server) stop() error {
	if err := s.env.Stop(); err != nil {
		return fmt.Errorf("stopping the API server: %w", err)
	}
	return os.Remove(s.kubeconfig)
}

// Namespace creates a namespace with a name of its own and returns the name.
func (s *Server) Namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := s.Client.Create(t.Context(), ns); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	return ns.Name
}

// Root is the folder of the repository.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}
