package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Params of the push methods, and of a send with a config along, are written out in full for each generation (wire reference 2).
func TestPushConfigsHoldWhatTheirGenerationKnows(t *testing.T) {
	p := PushConfig{ID: "p1", URL: "http://h/hook", Token: "tok", Scheme: "Bearer", Credentials: "cred"}
	least := PushConfig{URL: "http://h/hook"}
	for name, tc := range map[string]struct {
		got  object
		want string
	}{
		"0.1 set": {
			Endpoint{Generation: V01, Tenant: "x"}.pushSetParams("t1", p),
			`{"id":"t1","pushNotificationConfig":{"authentication":{"credentials":"cred","schemes":["Bearer"]},"id":"p1","token":"tok","url":"http://h/hook"}}`,
		},
		"0.2 set": {
			Endpoint{Generation: V02}.pushSetParams("t1", p),
			`{"pushNotificationConfig":{"authentication":{"credentials":"cred","schemes":["Bearer"]},"id":"p1","token":"tok","url":"http://h/hook"},"taskId":"t1"}`,
		},
		"0.3 set, the least": {
			Endpoint{Generation: V03}.pushSetParams("t1", least), `{"pushNotificationConfig":{"url":"http://h/hook"},"taskId":"t1"}`,
		},
		"1.0 create is flat": {
			Endpoint{Generation: V10, Tenant: "acme"}.pushSetParams("t1", p),
			`{"authentication":{"credentials":"cred","scheme":"Bearer"},"id":"p1","taskId":"t1","tenant":"acme","token":"tok","url":"http://h/hook"}`,
		},
		"0.3 delete": {Endpoint{Generation: V03}.pushNamed("t1", "p1"), `{"id":"t1","pushNotificationConfigId":"p1"}`},
		"1.0 delete": {Endpoint{Generation: V10, Tenant: "acme"}.pushNamed("t1", "p1"), `{"id":"p1","taskId":"t1","tenant":"acme"}`},
		"0.1 send": {
			sendParams01(Message{TaskID: "t1", Parts: []Part{{Text: "x"}}}, SendConfig{Push: &least}),
			`{"id":"t1","message":{"parts":[{"text":"x","type":"text"}],"role":"user"},"pushNotification":{"url":"http://h/hook"}}`,
		},
		"0.3 send": {
			configuration03(SendConfig{Push: &least}),
			`{"acceptedOutputModes":["text/plain","application/json"],"blocking":true,"pushNotificationConfig":{"url":"http://h/hook"}}`,
		},
		"1.0 send": {
			configuration10(SendConfig{Push: &p}),
			`{"taskPushNotificationConfig":{"authentication":{"credentials":"cred","scheme":"Bearer"},"id":"p1","token":"tok","url":"http://h/hook"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := asJSON(t, tc.got); got != tc.want {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

// A peer that refuses an address says so in a text that is not kept; one that has no push says nothing of addresses (C33, C80).
func TestRefusalsOfAnAddressAreToldFromRefusalsOfPush(t *testing.T) {
	for text, want := range map[string]bool{
		"callback address not allowed":                     true,
		"Webhook URL targets a private network":            true,
		"url must use HTTPS":                               true,
		"refused: 10.0.0.1 is a loopback or private IP":    true,
		"Push Notification is not supported":               false,
		"push notifications disabled for security reasons": false,
		"Method not found":                                 false,
		"webhooks and callbacks are not implemented":       false,
		"": false,
	} {
		body := asJSON(t, map[string]any{"jsonrpc": "2.0", "id": "p1", "error": map[string]any{"code": -32004, "message": text}})
		e := readEvent([]byte(body), expect{generation: V10, id: value(`"p1"`)})
		if e.Err == nil || e.Err.OfAddress != want {
			t.Errorf("%q: %+v, want OfAddress %v", text, e.Err, want)
		}
	}
}

// A post is sent as it is, once, and follows nobody.
func TestPostFollowsNoRedirect(t *testing.T) {
	var got []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	c := newTestClient(t, Options{})
	header := http.Header{"Authorization": {"Bearer x"}}
	if status, err := c.Post(within(t, 5*time.Second), mustURL(t, s.URL+"/hook"), header, []byte("{}")); err != nil || status != 204 {
		t.Errorf("status %d, %v", status, err)
	}
	if status, err := c.Post(within(t, 5*time.Second), mustURL(t, s.URL+"/moved"), header, []byte("{}")); err != nil || status != 307 {
		t.Errorf("status %d, %v", status, err)
	}
	if want := []string{"/hook Bearer x {}", "/moved Bearer x {}"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	closed := newTestClient(t, Options{Egress: mustEgress(t, EgressPolicy{PlaintextHosts: []string{"127.0.0.1"}})})
	var e *Error
	if _, err := closed.Post(within(t, 5*time.Second), mustURL(t, s.URL), nil, nil); !errors.As(err, &e) || e.Class != ClassBlocked {
		t.Errorf("a client that nothing was opened to posts to loopback: %v", err)
	}
}

// The relay reaches pods at private addresses and never what hands out credentials.
func TestRelayReachesPodsAndNoMetadata(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	relay := NewRelay()
	post := func(url string) error {
		req, err := http.NewRequestWithContext(within(t, 5*time.Second), http.MethodPost, url, bytes.NewReader(nil))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := relay.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	if err := post(s.URL); err != nil {
		t.Error(err)
	}
	if err := post("http://169.254.169.254/"); err == nil {
		t.Error("it dialled link-local")
	}
	if c, ok := relay.(*http.Transport); ok {
		c.CloseIdleConnections()
	}
}

// Only addresses of the internet are public.
func TestLoopbackAndPrivateHostsAreNotPublic(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": false, "10.1.2.3": false, "::1": false, "8.8.8.8": true, "no-such-host.invalid": false, "localhost": false,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if got := Public(ctx, host); got != want {
			t.Errorf("%s: %v", host, got)
		}
		cancel()
	}
}
