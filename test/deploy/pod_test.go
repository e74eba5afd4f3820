package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

// template is the operator's pod, as the API server has it.
func template(t *testing.T, server *apiserver.Server) corev1.PodTemplateSpec {
	t.Helper()
	var deployment appsv1.Deployment
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "agentpeer-operator"}, &deployment); err != nil {
		t.Fatal(err)
	}
	return deployment.Spec.Template
}

func TestSecurityPodIsAdmittedUnderTheRestrictedStandard(t *testing.T) {
	server := install(t)
	var ns corev1.Namespace
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, &ns); err != nil {
		t.Fatal(err)
	}
	if got := ns.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Fatalf("the namespace enforces %q, want restricted", got)
	}
	from := template(t, server)
	pod := &corev1.Pod{ObjectMeta: from.ObjectMeta, Spec: from.Spec}
	pod.Namespace, pod.GenerateName = namespace, "operator-"
	if err := server.Client.Create(t.Context(), pod.DeepCopy()); err != nil {
		t.Errorf("creating the operator's pod: %v", err)
	}
	pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = ptr.To(true)
	if err := server.Client.Create(t.Context(), pod); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("creating it with more rights: %v, want it refused, or this test shows nothing", err)
	}
	var settings corev1.ConfigMap
	volume := from.Spec.Volumes[0]
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: volume.ConfigMap.Name}, &settings); err != nil {
		t.Errorf("looking for the ConfigMap that the pod mounts: %v", err)
	}
}

// TestSecurityPodHasLessThanTheStandardAllows looks at what the restricted standard does not ask for.
func TestSecurityPodHasLessThanTheStandardAllows(t *testing.T) {
	server := install(t)
	spec := template(t, server).Spec
	if len(spec.Containers) != 1 || len(spec.InitContainers) != 0 {
		t.Fatalf("the pod has %d containers and %d to begin with, want one and none", len(spec.Containers), len(spec.InitContainers))
	}
	c := spec.Containers[0]
	for what, ok := range map[string]bool{
		"a root file system that cannot be written":        ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false),
		"no privilege to gain":                             !ptr.Deref(c.SecurityContext.AllowPrivilegeEscalation, true),
		"no capabilities":                                  len(c.SecurityContext.Capabilities.Add) == 0 && c.SecurityContext.Capabilities.Drop[0] == "ALL",
		"a user that is a number and not root":             ptr.Deref(spec.SecurityContext.RunAsUser, 0) > 0 && ptr.Deref(spec.SecurityContext.RunAsNonRoot, false),
		"a group that is a number and not root":            ptr.Deref(spec.SecurityContext.RunAsGroup, 0) > 0,
		"the runtime's seccomp profile":                    spec.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"nothing of the node":                              !spec.HostNetwork && !spec.HostPID && !spec.HostIPC,
		"no addresses of Services in its environment":      !ptr.Deref(spec.EnableServiceLinks, true),
		"a bound on memory":                                !c.Resources.Limits.Memory().IsZero(),
		"requests":                                         !c.Resources.Requests.Cpu().IsZero() && !c.Resources.Requests.Memory().IsZero(),
		"a token of its own, asked for by the pod":         ptr.Deref(spec.AutomountServiceAccountToken, false),
		"no volume but its settings":                       len(spec.Volumes) == 1 && spec.Volumes[0].ConfigMap != nil,
		"no Secret in its environment":                     !strings.Contains(c.String(), "SecretKeyRef:&"),
		"metrics only for callers that are authenticated":  !strings.Contains(strings.Join(c.Args, " "), "--metrics-secure=false"),
		"no profiles, which have no flag that serves them": !strings.Contains(strings.Join(c.Args, " "), "pprof"),
	} {
		if !ok {
			t.Errorf("the operator's pod does not have %s", what)
		}
	}
	var account corev1.ServiceAccount
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: serviceAccount}, &account); err != nil {
		t.Fatal(err)
	}
	if ptr.Deref(account.AutomountServiceAccountToken, true) {
		t.Error("the ServiceAccount gives its token to every pod that names it")
	}
}

func TestSecurityImageHasNoShellAndNoRoot(t *testing.T) {
	text := read(t, "Dockerfile")
	final := text[strings.LastIndex(text, "\nFROM "):]
	for _, want := range []string{"FROM gcr.io/distroless/static", "USER 65532:65532", `ENTRYPOINT ["/manager"]`} {
		if !strings.Contains(final, want) {
			t.Errorf("the last stage of the Dockerfile does not say %q", want)
		}
	}
	if strings.Contains(final, "RUN") || strings.Contains(final, "debug") {
		t.Error("the last stage of the Dockerfile runs something, which needs a shell in the image")
	}
}

// TestSecurityBuildIsTheSameEverywhere holds the image and make build to the one script that says how programs are built;
// make reproduce shows that it gives the same bytes twice.
func TestSecurityBuildIsTheSameEverywhere(t *testing.T) {
	build := regexp.MustCompile(`(?m)^\s*#.*`).ReplaceAllString(read(t, "hack/build.sh"), "") // comments speak of flags too
	for _, want := range []string{"CGO_ENABLED=0", "-trimpath", "-buildvcs=false"} {
		if !strings.Contains(build, want) {
			t.Errorf("hack/build.sh builds without %s", want)
		}
	}
	own := regexp.MustCompile(`go build[^\n]*\./cmd`)
	for _, file := range []string{"Makefile", "Dockerfile"} {
		text := read(t, file)
		if !strings.Contains(text, "hack/build.sh") || own.MatchString(text) {
			t.Errorf("%s does not build the programs by hack/build.sh alone", file)
		}
	}
	if release := regexp.MustCompile(`GOTOOLCHAIN = go(\S+)`).FindStringSubmatch(read(t, "Makefile")); !strings.Contains(read(t, "Dockerfile"), "golang:"+release[1]+" ") {
		t.Errorf("the Dockerfile builds with another Go release than the Makefile, which says %s", release[1])
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apiserver.Root(), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
