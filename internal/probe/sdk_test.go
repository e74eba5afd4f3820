package probe

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/agentpeer/agentpeer/internal/card"
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
			job.Target.AllowedOrigins = originsOn(t, base+peer.CardPath)
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

// originsOn lists the origins of a card's interfaces: gRPC has a port of its own.
func originsOn(t *testing.T, cardURL string) (list []string) {
	t.Helper()
	r, err := http.Get(cardURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	c, err := card.Parse(text, r.Request.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range c.Interfaces {
		list = append(list, originOf(in.URL))
	}
	return list
}
