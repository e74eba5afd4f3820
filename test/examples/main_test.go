package examples

import (
	"flag"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // they wait far more than they work
		panic(err)
	}
	ctrl.SetLogger(logr.Discard()) // else controller-runtime complains that nobody set one
	apiserver.Main(m)
}
