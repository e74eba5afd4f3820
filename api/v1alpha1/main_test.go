package v1alpha1_test

import (
	"testing"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m) }
