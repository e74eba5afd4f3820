package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A recipe is everything that decides what a build yields.
type recipe struct {
	// source is the folder of this module.
	source string
	// goVersion is the Go release and platform, such as "go1.27.3 linux amd64".
	goVersion string
	// kubernetes is the version that go.mod asks for, such as "v1.37.2".
	kubernetes string
	// inputs maps each file that is compiled or pins what is compiled to its bytes.
	inputs map[string][]byte
	// order lists the keys of inputs, sorted.
	order []string
}

var requiredKubernetes = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v1\.\d+\.\d+)\b`)

// readRecipe reads the module in source, which is where "go run -C" puts us.
func readRecipe(ctx context.Context, source string) (*recipe, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	r := &recipe{source: source, inputs: map[string][]byte{}}
	programs, err := filepath.Glob(filepath.Join(source, "devkube", "*.go"))
	if err != nil {
		return nil, err
	}
	if len(programs) == 0 {
		return nil, fmt.Errorf("reading %q: no devkube program there; run it as: go run -C hack/devcluster . build", source)
	}
	for _, file := range append([]string{filepath.Join(source, "go.mod"), filepath.Join(source, "go.sum")}, programs...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(source, file)
		if err != nil {
			return nil, err
		}
		r.inputs[name] = data
		r.order = append(r.order, name) // Glob sorts
	}
	required := requiredKubernetes.FindSubmatch(r.inputs["go.mod"])
	if required == nil {
		return nil, errors.New("reading go.mod: no k8s.io/kubernetes release required there")
	}
	r.kubernetes = string(required[1])
	r.goVersion, err = goVersion(ctx, source)
	return r, err
}

func goVersion(ctx context.Context, source string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	cmd.Dir = source
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its version: %w", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

// args are the arguments of "go build". Without the stamps the server calls itself v0.0.0-master, and clients that
// look at its version refuse to talk to it. -buildvcs=false: our own commit does not belong in it.
func (r *recipe) args() []string {
	const version = "k8s.io/component-base/version."
	minor := strings.Split(strings.TrimPrefix(r.kubernetes, "v"), ".")
	stamps := strings.Join([]string{
		"-s -w",
		"-X " + version + "gitVersion=" + r.kubernetes,
		"-X " + version + "gitMajor=" + minor[0],
		"-X " + version + "gitMinor=" + minor[1],
		"-X " + version + "gitTreeState=clean",
		"-X " + version + "gitCommit=devcluster",
	}, " ")
	return []string{"-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", stamps}
}

// key names the folder in the cache. Equal recipes have equal keys.
func (r *recipe) key() string {
	h := sha256.New()
	add := func(name string, data []byte) {
		_, _ = fmt.Fprintf(h, "%s %d\n", name, len(data)) // a hash never fails
		_, _ = h.Write(data)
	}
	add("go", []byte(r.goVersion))
	add("args", []byte(strings.Join(r.args(), "\n")))
	for _, name := range r.order {
		add(name, r.inputs[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
