package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
	"github.com/agentpeer/agentpeer/client/lifecycle"
)

func TestClassify(t *testing.T) {
	nothing := Verdict{}
	refusal := Verdict{Report: true, Basis: lifecycle.Card}
	divergence := AgentCardDivergenceError{TaskID: "t1", Declared: "a", Observed: "b", Basis: lifecycle.Protocol}
	for name, tc := range map[string]struct {
		err  error
		want Verdict
	}{
		"nothing": {nil, nothing},

		// Nobody's fault, or not the contract's.
		"a connection refused":                  {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, nothing},
		"no such host":                          {&url.Error{Op: "Post", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, nothing},
		"a reset":                               {fmt.Errorf("SSE stream error: %w", io.ErrUnexpectedEOF), nothing},
		"401 by a2a-go's JSON-RPC":              {errors.New("unexpected HTTP status: 401 Unauthorized"), nothing},
		"403":                                   {errors.New("unexpected HTTP status: 403 Forbidden"), nothing},
		"404 of a moved endpoint":               {errors.New("unexpected HTTP status: 404 Not Found"), nothing},
		"405":                                   {errors.New("unexpected HTTP status: 405 Method Not Allowed"), nothing},
		"429":                                   {errors.New("unexpected HTTP status: 429 Too Many Requests"), nothing},
		"503 without a protocol body":           {errors.New("unexpected HTTP status: 503 Service Unavailable"), nothing},
		"5xx by a2a-go's REST":                  {a2a.ErrServerError, nothing},
		"our own deadline":                      {fmt.Errorf("failed to send HTTP request: %w", context.DeadlineExceeded), nothing},
		"our own cancel":                        {context.Canceled, nothing},
		"unauthenticated by the protocol":       {a2a.NewError(a2a.ErrUnauthenticated, "who?"), nothing},
		"unauthorized by the protocol":          {a2a.ErrUnauthorized, nothing},
		"an agent that fails":                   {a2a.NewError(a2a.ErrInternalError, "oops"), nothing},
		"an answer of the agent's that is none": {a2a.ErrInvalidAgentResponse, nothing},
		"a prompt that it would not take":       {a2a.ErrInvalidParams, nothing},
		"a task that is gone":                   {a2a.ErrTaskNotFound, nothing},
		"a task that cannot be cancelled":       {a2a.ErrTaskNotCancelable, nothing},
		"another version":                       {a2a.ErrVersionNotSupported, nothing},
		"an extension that is asked for":        {a2a.ErrExtensionSupportRequired, nothing},
		"gRPC: unavailable":                     {status.Error(codes.Unavailable, "x"), nothing},
		"gRPC: resource exhausted":              {status.Error(codes.ResourceExhausted, "x"), nothing},
		"gRPC: deadline exceeded":               {status.Error(codes.DeadlineExceeded, "x"), nothing},
		"gRPC: unimplemented, by the raw stub":  {status.Error(codes.Unimplemented, "x"), nothing},
		"an error of ours":                      {fmt.Errorf("opening a task: %w", ErrPeerUnavailable), nothing},

		// Refusals.
		"an operation not supported": {a2a.NewError(a2a.ErrUnsupportedOperation, "no"), refusal},
		"a method not found":         {fmt.Errorf("streaming: %w", a2a.ErrMethodNotFound), refusal},
		"push not supported": {a2a.ErrPushNotificationNotSupported, Verdict{Report: true, Capability: v1alpha1.CapabilityPushNotifications,
			Reason: v1alpha1.ReasonPushConfigRefused, Basis: lifecycle.Card}},
		"no extended card": {a2a.ErrExtendedCardNotConfigured, Verdict{Report: true, Capability: v1alpha1.CapabilityExtendedAgentCard,
			Reason: v1alpha1.ReasonExtendedCardNotConfigured, Basis: lifecycle.Card}},
		"a media type refused": {a2a.ErrUnsupportedContentType, Verdict{Report: true, Capability: v1alpha1.CapabilityInputModes,
			Reason: v1alpha1.ReasonDeclaredModeRefused, Basis: lifecycle.Behaviour}},

		// Divergences.
		"one whose fault nobody asked": {fmt.Errorf("x: %w", &divergence), Verdict{Report: true, Capability: v1alpha1.CapabilityContinuation,
			Reason: v1alpha1.ReasonTaskIdChangedOnContinuation, Basis: lifecycle.Behaviour, TaskID: "t1"}},
		"one of time": {&AgentCardDivergenceError{Basis: lifecycle.Deadline}, Verdict{Report: true, Capability: v1alpha1.CapabilityLifecycle,
			Reason: v1alpha1.ReasonStuck, Basis: lifecycle.Deadline}},
		"an end that was left": {&AgentCardContractViolation{AgentCardDivergenceError: divergence, Rule: lifecycle.TerminalIsFinal},
			Verdict{Report: true, Capability: v1alpha1.CapabilityLifecycle, Reason: v1alpha1.ReasonTerminalStateNotFinal, Basis: lifecycle.Protocol, TaskID: "t1"}},
		"an odd order": {&AgentCardContractViolation{AgentCardDivergenceError: AgentCardDivergenceError{Basis: lifecycle.Behaviour}, Rule: lifecycle.WorkingFirst},
			Verdict{Report: true, Capability: v1alpha1.CapabilityLifecycle, Reason: v1alpha1.WarningInputRequiredWithoutWorking, Basis: lifecycle.Behaviour}},
		"one that is charged": {fmt.Errorf("x: %w", &ChargedError{Capability: v1alpha1.CapabilityStreaming, Reason: v1alpha1.ReasonStreamEmpty,
			Basis: lifecycle.Card, TaskID: "t2", Observed: []string{"end@1ms"}, Err: &divergence}),
			Verdict{Report: true, Capability: v1alpha1.CapabilityStreaming, Reason: v1alpha1.ReasonStreamEmpty, Basis: lifecycle.Card, TaskID: "t2", Observed: []string{"end@1ms"}}},
		"one that speaks against nobody": {&ChargedError{Capability: v1alpha1.CapabilityContinuation, Reason: v1alpha1.ReasonNotContinued, Err: &divergence},
			Verdict{Capability: v1alpha1.CapabilityContinuation, Reason: v1alpha1.ReasonNotContinued}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Classify(tc.err)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARefusalIsChargedToWhatItRefused(t *testing.T) {
	for c, want := range map[v1alpha1.CapabilityName]v1alpha1.Reason{
		v1alpha1.CapabilityStreaming:         v1alpha1.ReasonStreamingRefused,
		v1alpha1.CapabilityPushNotifications: v1alpha1.ReasonPushConfigRefused,
		v1alpha1.CapabilityExtendedAgentCard: v1alpha1.ReasonExtendedCardRefused,
		v1alpha1.CapabilityCancellation:      "", // to refuse a cancel is legal
		v1alpha1.CapabilityContinuation:      "", // and so is an early follow-up
		v1alpha1.CapabilityTaskRetrieval:     "", // a gateway may serve messages alone
	} {
		v := Classify(a2a.ErrUnsupportedOperation).For(c)
		if v.Reason != want || v.Report != (want != "") || v.Report && v.Capability != c {
			t.Errorf("refused for %s: %+v, want reason %q", c, v, want)
		}
	}
	known := Classify(a2a.ErrPushNotificationNotSupported)
	if diff := cmp.Diff(known, known.For(v1alpha1.CapabilityStreaming)); diff != "" {
		t.Errorf("an error that says who is charged was charged to another: %s", diff)
	}
}

func TestWhatMayHaveBegunATaskIsNotSentAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a connection refused":     {&url.Error{Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, false},
		"no such host":             {&url.Error{Err: &net.DNSError{}}, false},
		"an error of the agent":    {a2a.NewError(a2a.ErrInternalError, "oops"), false},
		"a refusal":                {a2a.ErrUnsupportedOperation, false},
		"401":                      {errors.New("unexpected HTTP status: 401 Unauthorized"), false},
		"a redirect":               {errors.New("unexpected HTTP status: 302 Found"), false},
		"502 of a gateway":         {errors.New("unexpected HTTP status: 502 Bad Gateway"), true},
		"a reset while reading":    {&net.OpError{Op: "read", Err: errors.New("reset")}, true},
		"our own deadline":         {context.DeadlineExceeded, true},
		"an answer that is no A2A": {errors.New("failed to decode response: invalid character '<'"), true},
		"a 5xx by REST":            {a2a.ErrServerError, true},
	} {
		if got := ambiguous(tc.err); got != tc.want {
			t.Errorf("%s: may have begun a task: %v, want %v", name, got, tc.want)
		}
	}
}
