package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: devcluster build

Builds etcd, kube-apiserver and kubectl from Go modules unless they are cached, and prints their folder.

  KUBEBUILDER_ASSETS  a folder that has them already: it is checked and printed, nothing is built
  DEVCLUSTER_CACHE    where built folders are kept; default: agentpeer/devcluster in the user's cache folder
`

func main() {
	if len(os.Args) != 2 || os.Args[1] != "build" {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := assets(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
	fmt.Println(folder)
}

// assets returns the folder to use: the one that the environment names, the cached one, or a new one.
func assets(ctx context.Context) (string, error) {
	if given := os.Getenv("KUBEBUILDER_ASSETS"); given != "" {
		return checkGiven(given)
	}
	recipe, err := readRecipe(ctx, ".")
	if err != nil {
		return "", err
	}
	cache, err := openCache()
	if err != nil {
		return "", err
	}
	if folder, ok := cache.lookup(recipe.key()); ok {
		return folder, nil
	}
	unlock, err := cache.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	// Whoever held the lock may have built what we want.
	if folder, ok := cache.lookup(recipe.key()); ok {
		return folder, nil
	}
	return cache.fill(recipe.key(), func(dir string) error { return build(ctx, recipe, dir) })
}

// say tells a person what is going on; stdout carries the folder and nothing else.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "devcluster: "+format+"\n", args...) }
