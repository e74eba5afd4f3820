package probe

import (
	"errors"
	"testing"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/sdk"
)

// Real servers on third-party SDKs are honest: nothing about them may be a contradiction, and all they can do is seen.
func TestServersOnThirdPartySDKsAreHonest(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the SDK servers: run make test")
	}
	for _, peer := range append(sdk.Peers(), sdk.OtherBindings()...) {
		t.Run(peer.Name, func(t *testing.T) {
			t.Parallel()
			base, stop, err := sdk.Start(t.Context(), peer.Name)
			if errors.Is(err, sdk.ErrNotBuilt) {
				t.Fatal(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			job := jobFor(t, base, Questions()...)
			job.Target.Timing = DefaultTiming()
			job.Control = true
			rep := runJob(t, job)
			if rep.WireGeneration != wire.Generation(peer.Generation) {
				t.Errorf("it is taken for %q, want %s", rep.WireGeneration, peer.Generation)
			}
			for _, c := range owed() {
				o := check(t, rep, c, expectation{outcome: trust.Honored})
				t.Logf("%s %s %s %v\n  %s\n  %q", c, o.Outcome, o.Reason, o.Warnings, o.Message, o.Observed)
			}
			if len(rep.Orphans) > 0 {
				t.Errorf("tasks are left behind: %v", rep.Orphans)
			}
		})
	}
}
