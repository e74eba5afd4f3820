package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// programs are the names by which devkube is called.
var programs = []string{"etcd", "kube-apiserver", "kubectl"}

// A cache holds one folder per recipe, each complete or absent.
type cache struct{ root string }

func openCache() (cache, error) {
	root := os.Getenv("DEVCLUSTER_CACHE")
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return cache{}, fmt.Errorf("finding the user's cache folder (DEVCLUSTER_CACHE can name another): %w", err)
		}
		root = filepath.Join(user, "agentpeer", "devcluster")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return cache{}, err
	}
	return cache{root: root}, os.MkdirAll(root, 0o755)
}

func (c cache) lookup(key string) (folder string, ok bool) {
	folder = filepath.Join(c.root, key)
	return folder, len(missing(folder, programs)) == 0
}

// lock lets one process build at a time: two at once would each take twice as long. The kernel drops the lock when
// the process ends, however it ends.
func (c cache) lock() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(c.root, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		say("another devcluster is building in %s; waiting for it", c.root)
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("locking %q: %w", file.Name(), err)
	}
	return func() { _ = file.Close() }, nil
}

// fill builds into a folder aside and renames it, so that a build cut short leaves nothing that looks complete.
// The caller holds the lock.
func (c cache) fill(key string, build func(dir string) error) (folder string, err error) {
	aside := filepath.Join(c.root, "building")
	if err := os.RemoveAll(aside); err != nil { // of a build that was killed
		return "", err
	}
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	if err := build(aside); err != nil {
		return "", err
	}
	folder = filepath.Join(c.root, key)
	if err := os.RemoveAll(folder); err != nil { // incomplete, else lookup had found it
		return "", err
	}
	return folder, os.Rename(aside, folder)
}

// checkGiven holds a folder of the user's own to what envtest needs, so that a wrong one is named here and not by
// a test that cannot start.
func checkGiven(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if lacking := missing(folder, []string{"etcd", "kube-apiserver"}); len(lacking) > 0 {
		return "", fmt.Errorf("KUBEBUILDER_ASSETS names %q, which has no executable %s; unset it to have them built",
			folder, lacking)
	}
	return folder, nil
}

// missing lists those of names that are not executable files in folder.
func missing(folder string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		info, err := os.Stat(filepath.Join(folder, name))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}
