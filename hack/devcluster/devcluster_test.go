package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func testRecipe() *recipe {
	return &recipe{
		goVersion:  "go1.27.3 linux amd64",
		kubernetes: "v1.37.2",
		inputs:     map[string][]byte{"go.mod": []byte("one"), "go.sum": []byte("two")},
		order:      []string{"go.mod", "go.sum"},
	}
}

func TestKeyChangesWithEverythingThatDecidesTheBuild(t *testing.T) {
	base := testRecipe().key()
	if again := testRecipe().key(); again != base {
		t.Fatalf("equal recipes have keys %q and %q", base, again)
	}
	for name, change := range map[string]func(*recipe){
		"Go release":         func(r *recipe) { r.goVersion = "go1.27.4 linux amd64" },
		"Kubernetes release": func(r *recipe) { r.kubernetes = "v1.37.3" },
		"a pinned module":    func(r *recipe) { r.inputs["go.sum"] = []byte("three") },
		"a byte that moved from one file to the next": func(r *recipe) {
			r.inputs["go.mod"], r.inputs["go.sum"] = []byte("onet"), []byte("wo")
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := testRecipe()
			change(changed)
			if changed.key() == base {
				t.Errorf("key is %q as before", base)
			}
		})
	}
}

func TestThisModuleIsARecipe(t *testing.T) {
	r, err := readRecipe(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	if args := strings.Join(r.args(), " "); !strings.Contains(args, "gitVersion="+r.kubernetes) {
		t.Errorf("args %q lack the stamp of %s", args, r.kubernetes)
	}
	if _, err := readRecipe(t.Context(), t.TempDir()); err == nil {
		t.Error("an empty folder is a recipe")
	}
}

// write makes the files that a build would.
func write(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestABuildCutShortIsNotFoundLater(t *testing.T) {
	c := cache{root: t.TempDir()}
	cut := errors.New("cut short")
	_, err := c.fill("key", func(dir string) error {
		write(t, dir, programs...)
		return cut
	})
	if !errors.Is(err, cut) {
		t.Fatalf("error is %v, want %v", err, cut)
	}
	if folder, ok := c.lookup("key"); ok {
		t.Fatalf("found %q", folder)
	}
	if _, err := c.fill("key", func(dir string) error { write(t, dir, programs...); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.lookup("key"); !ok {
		t.Error("a whole build is not found")
	}
}

func TestAFolderThatLostAProgramIsBuiltAgain(t *testing.T) {
	c := cache{root: t.TempDir()}
	fill := func() {
		t.Helper()
		if _, err := c.fill("key", func(dir string) error { write(t, dir, programs...); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	if err := os.Remove(filepath.Join(c.root, "key", "etcd")); err != nil {
		t.Fatal(err)
	}
	if folder, ok := c.lookup("key"); ok {
		t.Fatalf("%q has no etcd and is found", folder)
	}
	fill()
}

func TestTwoBuildersTakeTurns(t *testing.T) {
	c := cache{root: t.TempDir()}
	unlock, err := c.lock()
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		unlock, err := c.lock()
		if err == nil {
			unlock()
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("the second did not wait (error %v)", err)
	case <-time.After(50 * time.Millisecond):
	}
	unlock()
	if err := <-second; err != nil {
		t.Error(err)
	}
}

func TestAGivenFolderMustHoldTheServer(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "etcd")
	_, err := checkGiven(dir)
	if err == nil || !strings.Contains(err.Error(), "[kube-apiserver]") {
		t.Errorf("error is %v, want one that names kube-apiserver", err)
	}
	write(t, dir, "kube-apiserver")
	if got, err := checkGiven(dir); err != nil || got != dir {
		t.Errorf("got %q and error %v, want %q", got, err, dir)
	}
}

func TestErrorsOfTheCompilerPassAndNamesAreCounted(t *testing.T) {
	var p progress
	p.follow(strings.NewReader("go: downloading k8s.io/api v0.37.2\ngo.etcd.io/etcd/raft\ngolang.org/x/net\n"))
	if p.downloaded.Load() != 1 || p.compiled.Load() != 2 {
		t.Errorf("downloaded %d, compiled %d, want 1 and 2", p.downloaded.Load(), p.compiled.Load())
	}
}
