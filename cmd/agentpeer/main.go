// Command agentpeer judges A2A agents from a laptop or CI, without a cluster. `kubectl agentpeer` is the same program under the name
// kubectl-agentpeer.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "dev"

// Exit codes of `agentpeer check`.
const (
	exitHonored  = 0 // everything asked was honoured
	exitDiverged = 1 // something was declared or owed, and contradicted
	exitUnclear  = 2 // nothing was contradicted, and something could not be told
	exitUsage    = 3 // the command line, a file or a flag cannot be used
)

// exit carries an exit code; quiet ones have said all there is to say.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	// net/http reports odd answers there with the peer's bytes in them, unsanitised.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	root := &cobra.Command{
		Use:           name(),
		Short:         "Judge A2A agents: what their cards declare against what they do",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newCheck())
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return exitHonored
	case errors.As(err, &code):
		return int(code)
	default:
		fmt.Fprintf(errs, "%s: %v\n", name(), err)
		return exitUsage
	}
}

// name is how the user calls us: a kubectl plugin is called with a space.
func name() string {
	if base := filepath.Base(os.Args[0]); strings.HasPrefix(base, "kubectl-") {
		return strings.ReplaceAll(base, "-", " ")
	}
	return "agentpeer"
}
