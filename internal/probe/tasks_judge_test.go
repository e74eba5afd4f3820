package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// missed adds a TaskNotFound given at this offset, on a new connection if fresh.
func (t *tape) missed(at time.Duration, fresh bool) *tape {
	t.Looks = append(t.Looks, look{Asked: at - 10*ms, At: at, Code: codeTaskNotFound, Fresh: fresh, Open: at < t.EndAt})
	return t
}

// canceled adds an answer of CancelTask.
func (t *tape) canceled(at time.Duration, st lifecycle.State, code int) *tape {
	l := look{Asked: at - 10*ms, At: at, Code: code}
	if code == 0 {
		l.ID, l.Kind, l.State = "t1", wire.KindTask, st
	}
	t.Cancels = append(t.Cancels, l)
	return t
}

// works adds chunks of work every 100 ms between two offsets.
func (t *tape) works(from, to time.Duration) *tape {
	for at := from; at <= to; at += 100 * ms {
		t.Marks = append(t.Marks, mark{At: at, Last: at, Count: 1, Kind: wire.KindArtifact, TaskID: "t1", Parts: 1})
	}
	t.EndAt = max(t.EndAt, to+100*ms)
	return t
}

// says adds a status.
func (t *tape) says(at time.Duration, st lifecycle.State) *tape {
	t.Marks = append(t.Marks, mark{At: at, Last: at, Count: 1, Kind: wire.KindStatus, TaskID: "t1", State: st})
	t.EndAt = max(t.EndAt, at+100*ms)
	return t
}

type judged struct {
	tape    *tape
	outcome trust.Outcome
	reason  trust.Reason
	warn    trust.Reason
}

func (j judged) hold(t *testing.T, o trust.Observation) {
	t.Helper()
	if o.Outcome != j.outcome || o.Reason != j.reason {
		t.Errorf("%s %s, want %s %s: %s", o.Outcome, o.Reason, j.outcome, j.reason, o.Message)
	}
	if j.warn != "" && (len(o.Warnings) != 1 || o.Warnings[0] != j.warn) {
		t.Errorf("the warnings are %v, want %s", o.Warnings, j.warn)
	}
	if o.Message == "" || o.Rule == "" {
		t.Errorf("an observation needs message and rule: %+v", o)
	}
}

const (
	isHonored      = trust.Honored
	isDiverged     = trust.Diverged
	isInconclusive = trust.Inconclusive

	atWork = lifecycle.Working
	done   = lifecycle.Completed
	called = lifecycle.Canceled
)

func TestCaseRulesRetrieval(t *testing.T) {
	open := func() *tape { return stream(atWork).but(func(t *tape) { t.EndAt = 30 * s }) }
	for story, j := range map[string]judged{
		"found while it ran":                        {open().told(s, atWork, 0), isHonored, trust.ReasonHonored, ""},
		"found after its end":                       {stream(atWork, done).told(2*s, done, 0), isHonored, trust.ReasonHonored, ""},
		"missed every time, on new connections too": {open().missed(s, false).missed(2*s, true).missed(3*s, true), isDiverged, trust.ReasonTaskNotRetrievable, ""},
		"missed every time while it ran, and after its end": {stream(atWork).says(30*s, done).missed(s, false).missed(2*s, true).missed(3*s, true).missed(31*s, false),
			isDiverged, trust.ReasonTaskNotRetrievable, ""},
		"missed every time, twelve seconds behind its end": {stream(atWork).says(5*s, done).but(func(t *tape) {
			for i := range t.Marks {
				t.Marks[i].At, t.Marks[i].Last = t.Marks[i].At+12*s, t.Marks[i].Last+12*s
			}
			t.EndAt += 12 * s
		}).missed(12050*ms, false).missed(13*s, true).missed(14*s, true).missed(15*s, true), isInconclusive, trust.ReasonNotExercised, ""},
		"missed every time on one connection": {open().missed(s, false).missed(2*s, false).missed(3*s, false), isInconclusive, trust.ReasonNotExercised, ""},
		"missed every time but one, which was answered with another error": {open().missed(s, false).missed(2*s, true).missed(3*s, true).but(func(t *tape) {
			t.Looks = append(t.Looks, look{Asked: 4 * s, At: 4*s + 10*ms, Code: codeInternal, Open: true})
		}), isInconclusive, trust.ReasonNotExercised, ""},
		"missed twice only":                          {open().missed(s, false).missed(2*s, true), isInconclusive, trust.ReasonNotExercised, ""},
		"missed after its end":                       {stream(atWork, done).missed(2*s, false).missed(3*s, true).missed(4*s, true), isInconclusive, trust.ReasonNotExercised, ""},
		"now found, now missed":                      {open().told(s, atWork, 0).missed(2*s, true).told(3*s, atWork, 0), isInconclusive, trust.ReasonReplicaInconsistency, ""},
		"missed at first and found from then on":     {open().missed(s, false).told(2*s, atWork, 0).told(3*s, atWork, 0), isHonored, trust.ReasonHonored, ""},
		"not known to the gateway":                   {open().but(func(t *tape) { t.Looks = []look{{Code: codeMethodNotFound, Open: true}} }), isInconclusive, trust.ReasonTaskOpsUnavailable, ""},
		"answered with an error of no meaning to us": {open().but(func(t *tape) { t.Looks = []look{{Code: codeInternal, Open: true}} }), isInconclusive, trust.ReasonAgentFailing, ""},
		"never asked":                                {open(), isInconclusive, trust.ReasonNotExercised, ""},
		"begun by nobody, a Message answered":        {&tape{Streamed: true, Marks: []mark{{Kind: wire.KindMessage, Count: 1}}}, isInconclusive, trust.ReasonMessageOnly, ""},
		"answered under ever other ids that belong to no task": {open().but(func(t *tape) {
			t.Looks = []look{{ID: "a", State: atWork, Open: true}, {ID: "b", State: atWork, Open: true}}
			t.Strange = &look{Code: codeTaskNotFound}
		}), isDiverged, trust.ReasonTaskIDMismatch, ""},
		"answered under ever other ids that lead back to a task": {open().but(func(t *tape) {
			t.Looks = []look{{ID: "a", State: atWork, Open: true}, {ID: "b", State: atWork, Open: true}}
			t.Strange = &look{ID: "c", State: atWork}
		}), isInconclusive, trust.ReasonTaskIdentityUnstable, ""},
		"answered under one other id, and in step": {open().but(func(t *tape) {
			t.Looks = []look{{ID: "a", State: atWork, Open: true}, {ID: "a", State: atWork, Open: true}}
		}), isInconclusive, trust.ReasonTaskIdentityUnstable, ""},
		"answered once under another id, no more asked": {open().but(func(t *tape) { t.Looks = []look{{ID: "a", State: atWork, Open: true}} }), isInconclusive, trust.ReasonNotExercised, ""},
	} {
		t.Run(story, func(t *testing.T) { j.hold(t, judgeRetrieval(j.tape)) })
	}
}

func TestCaseRulesLifecycleOfOneTask(t *testing.T) {
	no, yes := false, true
	twice := func(final *bool, gen wire.Generation) *tape {
		return stream(atWork, done).works(1500*ms, 1500*ms).says(1600*ms, done).told(2*s, done, 0).but(func(t *tape) {
			t.Generation, t.Marks[1].Final, t.Marks[3].Final = gen, final, &yes
		})
	}
	for story, j := range map[string]judged{
		"ends and stays so":                    {stream(atWork, done).told(2*s, done, 0), isHonored, trust.ReasonHonored, ""},
		"ends and is forgotten":                {stream(atWork, done).told(50*ms, atWork, 0).missed(2*s, false), isHonored, trust.ReasonHonored, ""},
		"ends, and GetTask has never known it": {stream(atWork, done).missed(50*ms, false).missed(2*s, true), isInconclusive, trust.ReasonNotExercised, ""},
		"is answered late to a question from before its end": {stream(atWork, done).told(1200*ms, done, 0).but(func(t *tape) {
			t.Looks = append(t.Looks, look{Asked: 900 * ms, At: 1400 * ms, ID: "t1", Kind: wire.KindTask, State: atWork})
		}), isHonored, trust.ReasonHonored, ""},
		"says its end twice":                      {stream(atWork, done).says(2*s, done).told(3*s, done, 0), isHonored, trust.ReasonHonored, ""},
		"works after its end":                     {stream(atWork, done, atWork), isDiverged, trust.ReasonTerminalStateNotFinal, ""},
		"asks after its end":                      {stream(atWork, done, lifecycle.InputRequired), isDiverged, trust.ReasonTerminalStateNotFinal, ""},
		"ends twice and otherwise":                {stream(atWork, done, lifecycle.Failed), isDiverged, trust.ReasonTerminalStateNotFinal, ""},
		"brings an artifact after its end":        {stream(atWork, done).works(1500*ms, 1500*ms).told(3*s, done, 0), isDiverged, trust.ReasonEventsAfterTerminal, ""},
		"brings what final:false announced (C12)": {twice(&no, wire.V02), isHonored, trust.ReasonHonored, trust.ReasonEventsAfterTerminal},
		"brings what 0.1 left open":               {twice(nil, wire.V01), isHonored, trust.ReasonHonored, trust.ReasonEventsAfterTerminal},
		"brings an artifact after final:true":     {twice(&yes, wire.V03), isDiverged, trust.ReasonEventsAfterTerminal, ""},
		"brings an artifact after its end in 1.0": {twice(&no, wire.V10), isDiverged, trust.ReasonEventsAfterTerminal, ""},
		"is left by a newer time of its own": {stamped(stream(atWork, done)).told(1200*ms, done, 1001*ms).told(3*s, atWork, 2*s).told(6*s, atWork, 2*s),
			isDiverged, trust.ReasonTerminalStateNotFinal, ""},
		"is left at one look only": {stamped(stream(atWork, done)).told(1200*ms, done, 1001*ms).told(3*s, atWork, 2*s),
			isInconclusive, trust.ReasonReplicaInconsistency, trust.WarnTaskStoreStale},
		"is left, and the last look agrees again": {stamped(stream(atWork, done)).told(3*s, atWork, 2*s).told(6*s, atWork, 2*s).told(9*s, done, 1001*ms),
			isHonored, trust.ReasonHonored, trust.WarnTaskStoreStale},
		"is shown at work by a lagging store that stamps on read": {stream(atWork, done).but(func(t *tape) { t.Marks[1].Stamp = began.Add(s) }).
			told(1195*ms, atWork, 1190*ms).told(4200*ms, done, s), isHonored, trust.ReasonHonored, trust.WarnTaskStoreStale},
		"is shown at work for long by a store that stamps on read": {stamped(stream(atWork, done)).told(1200*ms, atWork, 1195*ms).told(4200*ms, atWork, 4195*ms).
			told(7200*ms, atWork, 7195*ms), isInconclusive, trust.ReasonNotExercised, trust.WarnTaskStoreStale},
		"is shown at work for good by a store with a clock of its own": {stream(atWork, done).but(func(t *tape) { t.Marks[0].Stamp, t.Marks[1].Stamp = began, began.Add(s) }).
			told(1200*ms, atWork, 3*s).told(4200*ms, atWork, 3*s).told(7200*ms, atWork, 3*s), isInconclusive, trust.ReasonNotExercised, trust.WarnTaskStoreStale},
		"is left while its stream was open, and still after": {stamped(stream(atWork, done)).told(1200*ms, done, 1001*ms).told(5*s, atWork, 2*s).told(11*s, atWork, 2*s).
			but(func(t *tape) { t.Left, t.LeftAt, t.EndAt = leftSettled, 6*s, 6*s }), isDiverged, trust.ReasonTerminalStateNotFinal, ""},
		"is left after we had left its open stream": {stamped(stream(atWork, done)).told(1200*ms, done, 1001*ms).told(8*s, atWork, 7*s).told(11*s, atWork, 7*s).
			but(func(t *tape) { t.Left, t.LeftAt, t.EndAt = leftSettled, 6*s, 6*s }), isInconclusive, trust.ReasonReplicaInconsistency, trust.WarnTaskStoreStale},
		"is shown older by a lagging store":               {stream(atWork, done).but(func(t *tape) { t.Marks[1].Stamp = began.Add(s) }).told(3*s, atWork, 500*ms).told(6*s, done, s), isHonored, trust.ReasonHonored, trust.WarnTaskStoreStale},
		"is shown active without a time":                  {stream(atWork, done).told(3*s, atWork, 0).told(6*s, done, 0), isHonored, trust.ReasonHonored, trust.WarnTaskStoreStale},
		"is shown failed by the store of another opinion": {stream(atWork, done).told(3*s, lifecycle.Failed, 0).told(6*s, lifecycle.Failed, 0), isInconclusive, trust.ReasonNotExercised, trust.WarnTaskStoreStale},
		"ends with an older snapshot": {stream(atWork, done, atWork).told(3*s, done, 0).but(func(t *tape) {
			t.Marks[1].Stamp, t.Marks[2].Stamp, t.Marks[2].Kind = began.Add(s), began, wire.KindTask
		}), isHonored, trust.ReasonHonored, ""},
		"ends with a snapshot that is newer": {stream(atWork, done, atWork).told(3*s, done, 0).but(func(t *tape) {
			t.Marks[1].Stamp, t.Marks[2].Stamp, t.Marks[2].Kind = began.Add(s), began.Add(2*s), wire.KindTask
		}), isDiverged, trust.ReasonTerminalStateNotFinal, ""},
		"is cut off, and answers show an end that stays": {stream(atWork).but(func(t *tape) { t.End = wire.EndReset }).told(2*s, done, 0).told(4*s, done, 0),
			isInconclusive, trust.ReasonStreamInterrupted, ""},
		"is cut off after its end": {stream(atWork, done).but(func(t *tape) { t.End = wire.EndReset }).told(2*s, done, 0), isHonored, trust.ReasonHonored, ""},
		"did not end":              {stream(atWork).told(50*ms, atWork, 0), isInconclusive, trust.ReasonNotExercised, ""},
		"ended after we hung up": {stream(atWork).but(func(t *tape) { t.Left, t.LeftAt, t.EndAt = leftDeadline, s, s }).told(2*s, done, 0).told(4*s, lifecycle.Failed, 0),
			isInconclusive, trust.ReasonNotExercised, ""},
	} {
		t.Run(story, func(t *testing.T) { j.hold(t, judgeLifecycle(j.tape)) })
	}
}

func TestCaseRulesLifeOfACanceledTask(t *testing.T) {
	for story, j := range map[string]judged{
		"stays canceled":                            {stream(atWork).canceled(s, called, 0).told(2*s, called, 0), isHonored, trust.ReasonHonored, ""},
		"is completed when asked twice":             {stream(atWork).canceled(s, called, 0).told(2*s, done, 0).told(5*s, done, 0), isDiverged, trust.ReasonTerminalStateNotFinal, ""},
		"is completed once, canceled the next time": {stream(atWork).canceled(s, called, 0).told(2*s, done, 0).told(5*s, called, 0), isHonored, trust.ReasonHonored, trust.WarnTaskStoreStale},
		"is at work again for good, with the time of canceled": {stream(atWork).canceled(s, called, 0).told(1200*ms, called, s).told(3*s, atWork, s).told(6*s, atWork, s),
			isInconclusive, trust.ReasonReplicaInconsistency, trust.WarnTaskStoreStale},
		"is at work again at the last look":                    {stream(atWork).canceled(s, called, 0).told(1200*ms, called, 0).told(3*s, atWork, 0), isInconclusive, trust.ReasonReplicaInconsistency, trust.WarnTaskStoreStale},
		"is completed on the stream that said canceled":        {stream(atWork, called, done), isDiverged, trust.ReasonTerminalStateNotFinal, ""},
		"brings work after canceled, which is not this rule's": {stream(atWork, called).works(1500*ms, 9*s).told(10*s, called, 0), isHonored, trust.ReasonHonored, ""},
	} {
		t.Run(story, func(t *testing.T) { j.hold(t, judgeCanceledLife(j.tape)) })
	}
}

func TestCaseRulesCancel(t *testing.T) {
	for story, j := range map[string]judged{
		"canceled at once": {stream(atWork).canceled(s, called, 0).told(2*s, called, 0).but(func(t *tape) { t.Left = leftDone }), isHonored, trust.ReasonHonored, ""},
		"canceled frame after the answer, work in the race": {stream(atWork).canceled(s, called, 0).works(s, 1900*ms).says(2*s, called), isHonored, trust.ReasonHonored, ""},
		"a zombie": {stream(atWork).canceled(s, called, 0).works(s, 12*s).but(func(t *tape) { t.Left, t.LeftAt = leftDone, 13*s }), isDiverged, trust.ReasonEventsAfterCancel, ""},
		"a zombie that says canceled on the stream too":    {stream(atWork, called).canceled(s, called, 0).works(1500*ms, 12*s), isDiverged, trust.ReasonEventsAfterCancel, ""},
		"a lump of late frames within five seconds":        {stream(atWork).canceled(s, called, 0).works(3*s, 6*s).but(func(t *tape) { t.Left = leftDone }), isHonored, trust.ReasonHonored, trust.WarnLateFramesAfterCancel},
		"a lump that comes late all at once":               {stream(atWork).canceled(s, called, 0).works(20*s, 21*s).but(func(t *tape) { t.Left = leftDone }), isHonored, trust.ReasonHonored, trust.WarnLateFramesAfterCancel},
		"a buffer that drains slowly and ends in canceled": {stream(atWork).canceled(s, called, 0).works(2*s, 12*s).says(12500*ms, called), isHonored, trust.ReasonHonored, trust.WarnLateFramesAfterCancel},
		"the stream closes without saying canceled":        {stream(atWork).canceled(s, called, 0).told(2*s, called, 0), isHonored, trust.ReasonHonored, trust.WarnCanceledFrameMissing},
		"accepted, and canceled later":                     {stream(atWork).canceled(s, atWork, 0).told(2*s, called, 0).but(func(t *tape) { t.Left = leftDone }), isHonored, trust.ReasonHonored, ""},
		"accepted, and nothing happens (C70)":              {stream(atWork).canceled(s, atWork, 0).told(9*s, atWork, 0), isInconclusive, trust.ReasonCancelNotHonoured, ""},
		"canceled, then completed (Lifecycle's)":           {stream(atWork).canceled(s, called, 0).told(2*s, done, 0).told(5*s, done, 0), isInconclusive, trust.ReasonCancelNotHonoured, ""},
		"canceled, and at work again by GetTask": {stream(atWork).says(s, called).canceled(s, called, 0).told(1200*ms, called, s).told(3*s, atWork, s).told(6*s, atWork, s),
			isInconclusive, trust.ReasonCancelNotHonoured, trust.WarnTaskStoreStale},
		"canceled by its answer, and never by anything else": {stream(atWork).canceled(s, called, 0).told(1200*ms, atWork, 0).told(3*s, atWork, 0).told(6*s, atWork, 0),
			isInconclusive, trust.ReasonCancelNotHonoured, trust.WarnTaskStoreStale},
		"canceled on the stream, behind a stale store": {stream(atWork).says(s, called).canceled(s, called, 0).told(1200*ms, atWork, 0).told(3*s, atWork, 0).told(6*s, atWork, 0),
			isHonored, trust.ReasonHonored, trust.WarnTaskStoreStale},
		"canceled, behind a store that lags and stamps on read": {stream(atWork).says(s, called).but(func(t *tape) { t.Marks[1].Stamp = began.Add(s) }).canceled(s, called, 0).
			told(1200*ms, atWork, 1195*ms).told(4200*ms, called, s), isHonored, trust.ReasonHonored, trust.WarnTaskStoreStale},
		"states told late that are older than the cancel": {stream(atWork).canceled(s, called, 0).says(3*s, atWork).says(6*s, atWork).says(12*s, atWork).but(func(t *tape) {
			t.Cancels[0].Stamp, t.Left = began.Add(s), leftDone
			for i := range t.Marks {
				t.Marks[i].Stamp = began.Add(time.Duration(i) * ms)
			}
		}), isHonored, trust.ReasonHonored, ""},
		"a zombie whose stream is cut soon": {stream(atWork, atWork, atWork).but(func(t *tape) { t.End = wire.EndReset }).canceled(100*ms, lifecycle.Canceled, 0), isInconclusive, trust.ReasonStreamInterrupted, ""},
		"completed in the race":             {stream(atWork).canceled(s, done, 0), isInconclusive, trust.ReasonTaskEndedFirst, ""},
		"not cancelable, and over":          {stream(atWork).canceled(s, "", codeNotCancelable).told(2*s, done, 0), isInconclusive, trust.ReasonTaskEndedFirst, ""},
		"not cancelable, and over later":    {stream(atWork).canceled(s, "", codeNotCancelable).told(2*s, atWork, 0).told(9*s, done, 0), isInconclusive, trust.ReasonTaskNotCancelable, ""},
		"not cancelable, and it goes on":    {stream(atWork).canceled(s, "", codeNotCancelable).told(2*s, atWork, 0), isInconclusive, trust.ReasonTaskNotCancelable, ""},
		"not found, though just shown":      {stream(atWork).canceled(s, "", codeTaskNotFound).told(2*s, atWork, 0), isInconclusive, trust.ReasonReplicaInconsistency, ""},
		"not implemented (C72)":             {stream(atWork).canceled(s, "", codeInternal), isInconclusive, trust.ReasonCancelUnsupported, ""},
		"not supported":                     {stream(atWork).canceled(s, "", codeUnsupported), isInconclusive, trust.ReasonCancelUnsupported, ""},
		"method not found, GetTask known":   {stream(atWork).told(50*ms, atWork, 0).canceled(s, "", codeMethodNotFound), isDiverged, trust.ReasonCancelRefused, ""},
		"method not found, GetTask neither (C85)": {stream(atWork).canceled(s, "", codeMethodNotFound).but(func(t *tape) { t.Looks = []look{{Code: codeMethodNotFound}} }),
			isInconclusive, trust.ReasonTaskOpsUnavailable, ""},
		"over before we could":            {stream(atWork, done), isInconclusive, trust.ReasonTaskEndedFirst, ""},
		"rejected":                        {stream(lifecycle.Rejected), isInconclusive, trust.ReasonProbeRejected, ""},
		"cut before we could":             {stream(), isInconclusive, trust.ReasonNotExercised, ""},
		"no answer to the cancel in time": {stream(atWork).but(func(t *tape) { t.Cancels = []look{{Fail: &wire.Error{Class: wire.ClassTimeout}}} }), isInconclusive, trust.ReasonProbeDeadlineExceeded, ""},
	} {
		t.Run(story, func(t *testing.T) { j.hold(t, judgeCancellation(j.tape, DefaultTiming())) })
	}
}

func TestCaseRulesWhoseFaultAReplyIs(t *testing.T) {
	first := func() *tape { return stream(atWork, lifecycle.InputRequired) }
	reply := func(id string) *tape {
		return &tape{Marks: []mark{{Kind: wire.KindTask, TaskID: id, State: atWork, Count: 1}}}
	}
	anew := &tape{Marks: []mark{{Kind: wire.KindTask, TaskID: "t1", State: lifecycle.Submitted, Count: 1}, {Kind: wire.KindTask, TaskID: "t1", State: done, Count: 1}}}
	message := &tape{Marks: []mark{{Kind: wire.KindMessage, Count: 1}}}
	failed := func(code int) *tape { return &tape{Marks: []mark{{Kind: wire.KindError, Code: code, Count: 1}}} }
	get := func(st lifecycle.State) look { return look{ID: "t1", State: st} }
	asks, works := get(lifecycle.InputRequired), get(atWork)
	for story, tc := range map[string]struct {
		k       talked
		outcome trust.Outcome
		reason  trust.Reason
	}{
		"continued": {talked{reached: true, before: &asks, reply: reply("t1")}, isHonored, trust.ReasonHonored},
		"its own id, on a replica that made a task of it": {talked{reached: true, clientNames: true, before: &asks, reply: anew, after: []look{asks, get(done)}}, isInconclusive, trust.ReasonReplicaInconsistency},
		"its own id, submitted, and the store is prompt":  {talked{reached: true, clientNames: true, before: &asks, reply: anew, after: []look{get(done)}}, isHonored, trust.ReasonHonored},
		"the peer's id, submitted, and the store lags":    {talked{reached: true, before: &asks, reply: anew, after: []look{asks, get(done)}}, isHonored, trust.ReasonHonored},
		"its own id, at work, and the store lags":         {talked{reached: true, clientNames: true, before: &asks, reply: reply("t1"), after: []look{asks, get(done)}}, isHonored, trust.ReasonHonored},
		"(a) GetTask said it asks, the old stands":        {talked{reached: true, before: &asks, reply: reply("t2"), after: []look{asks, asks}}, isDiverged, trust.ReasonTaskIDChangedOnContinuation},
		"the old task moved on all the same":              {talked{reached: true, before: &asks, reply: reply("t2"), after: []look{asks, get(done)}}, isInconclusive, trust.ReasonTaskIdentityUnstable},
		"(b) history promised, working seen":              {talked{working: true, promised: true, before: &works, reply: reply("t2"), after: []look{works, works}}, isDiverged, trust.ReasonTaskIDChangedOnContinuation},
		"(b) client-made ids, working seen":               {talked{working: true, clientNames: true, before: &works, reply: reply("t2"), after: []look{works, works}}, isDiverged, trust.ReasonTaskIDChangedOnContinuation},
		"(c) only the stream said that it asks":           {talked{reached: true, working: true, before: &works, reply: reply("t2"), after: []look{works, works}}, isInconclusive, trust.ReasonNotContinued},
		"nobody can say what became of the old":           {talked{reached: true, before: &asks, reply: reply("t2"), after: []look{{Code: codeTaskNotFound}}}, isInconclusive, trust.ReasonNotContinued},
		"an error to a reply nobody asked for":            {talked{working: true, promised: true, before: &works, reply: failed(codeUnsupported), after: []look{works}}, isInconclusive, trust.ReasonInputRequiredNotReached},
		"a reply nobody asked for, same id":               {talked{working: true, promised: true, before: &works, reply: reply("t1"), after: []look{works}}, isInconclusive, trust.ReasonInputRequiredNotReached},
		"refused while it asks":                           {talked{reached: true, before: &asks, reply: failed(codeUnsupported), after: []look{asks, asks}}, isDiverged, trust.ReasonContinuationRefused},
		"its words refused, alone too":                    {talked{reached: true, before: &asks, reply: failed(codeInvalidParams), control: failed(codeInvalidParams), after: []look{asks, asks}}, isInconclusive, trust.ReasonProbeRejected},
		"its words taken alone, not as a reply":           {talked{reached: true, before: &asks, reply: failed(codeInvalidParams), control: reply("t3"), after: []look{asks, asks}}, isDiverged, trust.ReasonContinuationRefused},
		"an error, and taken up all the same":             {talked{reached: true, before: &asks, reply: failed(codeInternal), after: []look{get(done)}}, isHonored, trust.ReasonHonored},
		"an error, and the task failed":                   {talked{reached: true, before: &asks, reply: failed(codeInternal), after: []look{get(lifecycle.Failed)}}, isInconclusive, trust.ReasonAgentFailing},
		"not found, though just shown":                    {talked{reached: true, before: &asks, reply: failed(codeTaskNotFound), after: []look{asks, asks}}, isInconclusive, trust.ReasonReplicaInconsistency},
		"a Message, and the task moved on":                {talked{reached: true, before: &asks, reply: message, after: []look{get(done)}}, isHonored, trust.ReasonHonored},
		"a Message, and the task stands":                  {talked{reached: true, before: &asks, reply: message, after: []look{asks, asks}}, isInconclusive, trust.ReasonMessageOnly},
		"no reply was sent":                               {talked{}, isInconclusive, trust.ReasonProbeDeadlineExceeded},
	} {
		t.Run(story, func(t *testing.T) {
			tc.k.first = first()
			judged{nil, tc.outcome, tc.reason, ""}.hold(t, judgeContinuation(tc.k))
		})
	}
}

// A working task may refuse or redirect a follow-up, unless continuity was promised: the message says by what it was.
func TestTheMessageSaysWhatPromisedThatAWorkingTaskContinues(t *testing.T) {
	works := look{ID: "t1", State: atWork}
	other := &tape{Marks: []mark{{Kind: wire.KindTask, TaskID: "t2", State: atWork, Count: 1}}}
	for says, k := range map[string]talked{
		"promises continuity (stateTransitionHistory)": {promised: true},
		"the client had named the task":                {clientNames: true},
	} {
		k.first, k.working, k.before, k.reply, k.after = stream(atWork), true, &works, other, []look{works, works}
		if o := judgeContinuation(k); o.Outcome != isDiverged || !strings.Contains(o.Message, says) {
			t.Errorf("%s %q, want Diverged and %q", o.Outcome, o.Message, says)
		}
	}
}

// No message names a field of the spec that does not exist.
func TestNoMessageNamesAFieldThatDoesNotExist(t *testing.T) {
	asks := look{ID: "t1", State: lifecycle.InputRequired}
	for _, o := range []trust.Observation{
		judgeContinuation(talked{first: stream(atWork), reached: true, before: &asks, after: []look{{ID: "t1", State: done}},
			reply: &tape{Marks: []mark{{Kind: wire.KindTask, TaskID: "t2", State: atWork, Count: 1}}}}),
		judgeRetrieval(stream(atWork).but(func(t *tape) {
			t.Looks = []look{{ID: "a", State: atWork, Open: true}, {ID: "a", State: atWork, Open: true}}
		})),
		{Reason: trust.ReasonTaskIdentityUnstable, Message: judgeStream(stream(atWork, done).but(func(t *tape) { t.Marks[1].TaskID = "t2" }), DefaultTiming()).text},
	} {
		if o.Reason != trust.ReasonTaskIdentityUnstable || strings.Contains(o.Message, "spec.taskIdentity") {
			t.Errorf("%s %q, want TaskIdentityUnstable and no such field", o.Reason, o.Message)
		}
	}
}
