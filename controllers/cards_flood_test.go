package controllers

import (
	"testing"
	"testing/synctest"
	"time"

	trustv1alpha1 "github.com/agentpeer/agentpeer/api/v1alpha1"
)

// TestSecurityTenantsEditsDoNotMakeAReplicaHammerAPeer: whoever edits an AgentPeer again and again has its card fetched no more often than
// a peer can bear, by none of the replicas.
func TestSecurityTenantsEditsDoNotMakeAReplicaHammerAPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		c := cardOf(t, true, 0)
		s.serve["travel/planner"] = serves(c)
		edited := func(n int64) func(*trustv1alpha1.AgentPeer) {
			return func(p *trustv1alpha1.AgentPeer) { p.Generation = n }
		}
		key := s.judged("travel", "planner", c)
		if j, why, _ := s.find(key); j == nil {
			t.Fatal(why)
		}
		for n := range int64(600) { // ten a second for a minute
			s.judged("travel", "planner", c, edited(n+2))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if n := s.asked.Load(); n > 45 {
			t.Errorf("600 edits in a minute had the card fetched %d times", n)
		}
		time.Sleep(10 * time.Second)
		if j, why, took := s.find(key); j == nil || j.Doubt != "" || took > time.Second {
			t.Errorf("after the flood: %v, %s, in %s", j, why, took)
		}
	})
}
