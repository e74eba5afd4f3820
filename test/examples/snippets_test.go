package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/agentpeer/agentpeer/test/apiserver"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// around is what stands around the Go of a page, so that it is a program. The snippets' own results are used at their ends.
var around = map[string]struct{ before, after string }{
	"docs/orchestrators.md": {`package main

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"k8s.io/client-go/rest"

	"github.com/agentpeer/agentpeer/client"
)

func main() {}

func snippet(ctx context.Context, config *rest.Config, agent *a2aclient.Client, url string, message, everythingAtOnce *a2a.Message,
	answer func(context.Context, a2a.TaskStatus) (*a2a.Message, error)) {
`, "\n_, _ = result, err\n}\n"},
	"examples/reconciled-card/README.md": {`package main

import (
	"context"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

func main() {}

func snippet(ctx context.Context, base string) {
`, "\n_, _ = client, err\n}\n"},
}

func TestTheGoOfTheDocsCompiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs go: run make test")
	}
	for page, around := range around {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(apiserver.Root(), page))
			if err != nil {
				t.Fatal(err)
			}
			blocks := goBlock.FindAllSubmatch(text, -1)
			if len(blocks) == 0 {
				t.Fatal("it has no Go: take it off the list")
			}
			// Inside the module, whose versions it is to compile with, and where no pattern finds it.
			folder, err := os.MkdirTemp(filepath.Join(apiserver.Root(), "bin", "examples"), "_snippet-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			program := around.before + string(blocks[0][1]) + around.after
			if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "vet", ".")
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, program)
			}
		})
	}
}
