package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// FuzzSSE: whatever the bytes, the decoder ends, keeps its limit, and says the same whether they come at once or one by one.
func FuzzSSE(f *testing.F) {
	for _, s := range []string{
		"", "data: a\n\n", "\ufeffdata:{\"a\":1}\r\rdata: b", ": hi\n\nevent: error\ndata: x\r\n\r\n", "data\ndata\n\n", "retry: 1\nid: 2\n",
		"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		const limit = 64
		got := decode(bytes.NewReader(body), limit)
		slow := decode(iotest.OneByteReader(bytes.NewReader(body)), limit)
		if !errors.Is(got.Err, slow.Err) {
			t.Fatalf("at once %v, byte by byte %v", got.Err, slow.Err)
		}
		if !errors.Is(got.Err, io.EOF) && !errors.Is(got.Err, errTooLarge) {
			t.Fatalf("error %v", got.Err)
		}
		got.Err, slow.Err = nil, nil
		if diff := cmp.Diff(got, slow); diff != "" {
			t.Fatalf("at once and byte by byte differ:\n%s", diff)
		}
		for _, d := range got.Data {
			if len(d) > limit || len(d) == 0 {
				t.Fatalf("an event of %d bytes", len(d))
			}
		}
	})
}

// FuzzEnvelope: whatever the bytes, an event comes out that holds together, and the walk sees what encoding/json sees.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{
		result(working), result(completed), result(task), result(`{"task":{"id":"t1","status":{"state":3}},"message":{}}`),
		`{"jsonrpc":"2.0","id":"p1","error":{"code":-32001,"data":[{"reason":"TASK_NOT_FOUND"}]}}`, `{"id":"t1","artifact":{"parts":[{}]}}`,
		`{"\u0069d":"\ud800","status":{"state":"a\\"},"history":[1,[2,{"a":"]"}],"}"]}`, `[]`, `{`, ` {"a" : [ ] , "b":-1e5 } `,
	} {
		f.Add([]byte(s), uint8(3))
	}
	generations := []Generation{V01, V02, V03, V10}
	f.Fuzz(func(t *testing.T, text []byte, how uint8) {
		x := expect{generation: generations[how%4], id: value(`"p1"`), bare: how&4 != 0, stream: how&8 != 0}
		e := readEvent(text, x)
		switch {
		case (e.Kind == KindError) != (e.Err != nil):
			t.Fatalf("kind %q and error %v", e.Kind, e.Err)
		case e.History < -1 || e.Parts < 0:
			t.Fatalf("history %d, parts %d", e.History, e.Parts)
		case e.Kind != KindOther && e.Kind != KindError && e.Shape == "":
			t.Fatalf("a %s of no shape", e.Kind)
		case !json.Valid(bytes.TrimSpace(trimBOM(text))) && !e.Has(ProblemMalformed):
			t.Fatal("not JSON, and nobody noticed")
		}
		_ = isProtocol(text)
		sameAsEncodingJSON(t, text)
	})
}

func sameAsEncodingJSON(t *testing.T, text []byte) {
	t.Helper()
	root, ok := parse(text)
	if !ok || !root.isObject() {
		return
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(root, &want); err != nil {
		t.Fatalf("parsed, and encoding/json says %v", err)
	}
	got := map[string]json.RawMessage{}
	root.members(func(name []byte, m value) {
		got[value(`"`+string(name)+`"`).text()] = json.RawMessage(m)
		if m.isArray() {
			var list []json.RawMessage
			if err := json.Unmarshal(m, &list); err != nil || len(list) != m.count() {
				t.Fatalf("%d elements, encoding/json says %d, %v", m.count(), len(list), err)
			}
		}
		if m.isString() && m.text() == "" && len(m) > 2 {
			t.Fatalf("the text of %s is empty", m)
		}
	})
	for name, m := range want {
		if g, ok := got[name]; ok && !bytes.Equal(g, m) {
			t.Fatalf("member %q is %s, encoding/json says %s", name, g, m)
		}
	}
	if len(got) > len(want) {
		t.Fatalf("%d members, encoding/json says %d", len(got), len(want))
	}
}

// FuzzRESTBody: whatever the bytes and the status, a body of HTTP+JSON is an answer that holds together or an *Error of the right class, and
// a frame of a stream the same; no status alone accuses anybody.
func FuzzRESTBody(f *testing.F) {
	for _, s := range []string{
		`{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`, `{"message":{"role":"ROLE_AGENT","content":[{"text":"x"}]}}`,
		`{"error":{"code":404,"status":"NOT_FOUND","message":"m","details":[{"reason":"TASK_NOT_FOUND"}]}}`, `{"code":-32004,"message":"m"}`,
		`{"type":"https://a2a-protocol.org/errors/task-not-found","title":"t","status":404}`, `{"message":"Task not found"}`, `{"detail":[]}`,
		`{"error":"Not Found","message":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{"task":{}}}`, `{"name":"/pushNotificationConfigs/","error":null}`,
		"data: {\"task\":{}}\n\n", "", "\ufeff{}", `{"error":{"code":"TaskNotFoundError","data":[[{"reason":"A"}],{"reason":1}]},"type":"\ud800"}`,
	} {
		for _, status := range []uint16{200, 400, 404, 409, 501} {
			f.Add([]byte(s), status, uint8(status))
		}
	}
	generations := []Generation{V02, V03, V10, V10}
	wants := []wanted{wantsEvent, wantsEvent, wantsConfig, wantsCard, wantsAnything}
	c := &client{limits: DefaultLimits()}
	f.Fuzz(func(t *testing.T, body []byte, status uint16, how uint8) {
		x := expect{generation: generations[how%4], rest: true, proto: true, bare: how&4 != 0, onTask: how&8 != 0, onCancel: how&16 != 0,
			wants: wants[int(how>>5)%len(wants)]}
		r := &reply{Response: &http.Response{StatusCode: int(status), Header: http.Header{}}}
		e, err := c.understand(r, body, x)
		var failed *Error
		switch {
		case err != nil && !errors.As(err, &failed):
			t.Fatalf("error %v", err)
		case err != nil && (failed.Class == ClassRoute) != (routeMissing(int(status)) && failed.Class != ClassMalformed):
			t.Fatalf("class %s at status %d", failed.Class, status)
		case err != nil:
			return
		case (e.Kind == KindError) != (e.Err != nil):
			t.Fatalf("kind %q and error %v", e.Kind, e.Err)
		case e.Err != nil && (e.Err.Code > -31000 || e.Err.Code < -32768):
			t.Fatalf("code %d", e.Err.Code)
		case e.Err != nil && !saysSo(body, e.Err.Code) && e.Err.Code != codeUnclear && !(status == 409 && x.onCancel):
			t.Fatalf("code %d, and the body does not say so", e.Err.Code)
		case status >= 300 && e.Kind != KindError:
			t.Fatalf("kind %q at status %d", e.Kind, status)
		case e.History < -1 || e.Parts < 0:
			t.Fatalf("history %d, parts %d", e.History, e.Parts)
		}
		x.stream = true
		if e := (frame{data: body, isError: how&1 != 0}).read(x); (e.Kind == KindError) != (e.Err != nil) {
			t.Fatalf("frame of kind %q and error %v", e.Kind, e.Err)
		}
	})
}

// saysSo: a body has a word or a number of this code somewhere.
func saysSo(body []byte, code int) bool {
	if bytes.Contains(body, []byte(strconv.Itoa(code))) || bytes.ContainsAny(body, "eE.") && bytes.Contains(body, []byte("3")) {
		return true // or written in another way
	}
	for reason, c := range reasons {
		if c != code {
			continue
		}
		plain := strings.ReplaceAll(strings.ToLower(reason), "_", "")
		flat := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(string(body)))
		if strings.Contains(flat, plain) || bytes.Contains(body, []byte(`\`)) {
			return true
		}
	}
	return false
}

// FuzzGuard: no address that reaches a cloud's metadata, the link or this very machine gets through, however it is written and
// whatever wide range is open.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{
		"127.0.0.1", "169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::1", "fe80::1%eth0", "8.8.8.8", "::",
		"fd00:ec2::254", "168.63.129.16", "2606:4700::1111",
	} {
		f.Add(netip.MustParseAddr(s).AsSlice(), true)
	}
	closed, wide := mustGuard(f, nil), mustGuard(f, prefixes("0.0.0.0/0", "::/0"))
	f.Fuzz(func(t *testing.T, b []byte, open bool) {
		ip, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		plain := ip.Unmap()
		if bad := worst(plain) != ""; bad && (wide.check(https(ip), open) == nil || closed.check(https(ip), open) == nil) {
			t.Fatalf("%s may be dialled", ip)
		}
		if inner, ok := embedded(plain); ok && worst(inner) != "" && wide.check(https(ip), open) == nil {
			t.Fatalf("%s may be dialled, and %s is in it", ip, inner)
		}
		if closed.check(https(ip), false) != nil {
			return
		}
		if !plain.IsGlobalUnicast() || plain.IsPrivate() || plain.IsLoopback() || plain.IsUnspecified() {
			t.Fatalf("%s may be dialled though nothing is open", ip)
		}
		if plain.Is4() && wide.check(https(netip.AddrFrom16(plain.As16())), false) != nil {
			t.Fatalf("%s may be dialled plain and not mapped", ip)
		}
	})
}
