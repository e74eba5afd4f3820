// Command devcluster makes a real Kubernetes API server out of Go modules, for the tests and the demo.
//
//	go run -C hack/devcluster . build
//
// prints a folder that holds etcd, kube-apiserver and kubectl, the shape that KUBEBUILDER_ASSETS and envtest
// expect. The three are one program, devkube, linked once and called by three names: that saves minutes on a
// fresh machine. Nothing but Go modules is downloaded.
//
// The folder is cached under a key made of everything that decides what comes out (go.mod, go.sum, devkube's
// source, the Go release, the platform, the flags), so that a second call costs milliseconds and a changed version
// builds anew beside the old one. The first build takes minutes of a small machine; it says so, and where it is.
//
// Where KUBEBUILDER_ASSETS is set, that folder is checked and printed instead and nothing is built.
// DEVCLUSTER_CACHE moves the cache away from the user's cache folder.
package main
