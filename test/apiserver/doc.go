// Package apiserver gives tests a real Kubernetes API server with the CRDs of this project installed.
//
// There is one server per test package, started by the first test that asks and stopped by Main:
//
//	func TestMain(m *testing.M) { apiserver.Main(m) }
//
//	func TestX(t *testing.T) {
//		server := apiserver.For(t) // skips under go test -short
//		namespace := server.Namespace(t)
//		...
//	}
//
// It runs etcd and kube-apiserver from the folder in KUBEBUILDER_ASSETS and nothing else: there are no controllers, so
// nothing is garbage collected and namespaces are not emptied. A namespace of its own keeps each test apart.
package apiserver
