package apiserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingBinariesAreAskedForByName(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	if _, err := assetsFolder(); err == nil || !strings.Contains(err.Error(), "make test") {
		t.Errorf("without KUBEBUILDER_ASSETS: %v, want an error that names make test", err)
	}
	folder := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", folder)
	if err := os.WriteFile(filepath.Join(folder, "etcd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := assetsFolder(); err == nil || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("with etcd alone: %v, want an error that names kube-apiserver", err)
	}
}

func TestTheRootHoldsTheModule(t *testing.T) {
	if _, err := os.Stat(filepath.Join(Root(), "go.mod")); err != nil {
		t.Error(err)
	}
}
