package client

import (
	"testing"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m) }
