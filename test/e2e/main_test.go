package e2e_test

import (
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // else controller-runtime complains that nobody set one
	apiserver.Main(m)
}
