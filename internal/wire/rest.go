package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// rest is the HTTP+JSON binding of one interface: 1.0's paths stand below the interface's URL, those of 0.3 and 0.2 (from 0.2.5 on) below
// its /v1, and their bodies are the ProtoJSON of the generation's proto (wire reference 2). 0.1 has no such binding.
type rest struct {
	client *Client
	at     Endpoint
}

func (r *rest) Endpoint() Endpoint { return r.at }

func (r *rest) Fresh() Peer { return &rest{client: r.client.Fresh(), at: r.at} }

func (r *rest) Close() { r.client.Close() }

func (r *rest) endpoint() Endpoint { return r.at.known() }

// route is one question of the HTTP+JSON binding and what to make of its answer.
type route struct {
	method string
	// path below the interface, its segments escaped; an empty one is a task or config that no path can name.
	path []string
	// verb behind the path's last segment, such as ":send".
	verb  string
	query url.Values
	// body, nil for none: GET and DELETE have none.
	body object
	// mediaType of the body.
	mediaType string
	// onTask: the path names a task, so that a 404 may be about that task and not about the path.
	onTask bool
	bare   bool
	wants  wanted
	// repeatable: asked twice it does no harm.
	repeatable bool
	// tenant stands in front of the path. Peers that do not know such paths are asked without, and told by the query.
	tenant string
	// orGet: asked by GET where POST is not known there.
	orGet bool
}

func (r *rest) Send(ctx context.Context, m Message, cfg SendConfig) (*Answer, error) {
	return r.unary(ctx, r.message("send", r.endpoint().restSend(m, cfg)))
}

func (r *rest) SendStream(ctx context.Context, m Message, cfg SendConfig) (*Stream, error) {
	return r.stream(ctx, r.message("stream", r.endpoint().restSend(m, cfg)))
}

func (r *rest) Ping(ctx context.Context) (*Answer, error) {
	q := r.message("send", r.endpoint().restEmpty())
	q.repeatable = true
	return r.unary(ctx, q)
}

func (r *rest) GetTask(ctx context.Context, id string, historyLength *int) (*Answer, error) {
	q := r.task(http.MethodGet, id)
	q.bare, q.repeatable = true, true
	if historyLength != nil {
		q.query = url.Values{"historyLength": {strconv.Itoa(*historyLength)}}
	}
	return r.unary(ctx, q)
}

func (r *rest) CancelTask(ctx context.Context, id string) (*Answer, error) {
	q := r.task(http.MethodPost, id)
	q.verb, q.body, q.bare = ":cancel", r.endpoint().restEmpty(), true
	return r.unary(ctx, q)
}

// Resubscribe asks by POST, as the text of 1.0 says, and by GET where that is not known, as its proto says.
func (r *rest) Resubscribe(ctx context.Context, id string) (*Stream, error) {
	q := r.task(http.MethodPost, id)
	q.verb, q.body, q.repeatable, q.orGet = ":subscribe", r.endpoint().restEmpty(), true, true
	return r.stream(ctx, q)
}

func (r *rest) SetPushConfig(ctx context.Context, taskID string, p PushConfig) (*Answer, error) {
	q := r.task(http.MethodPost, taskID, "pushNotificationConfigs")
	q.body, q.wants = r.endpoint().restPush(taskID, p), wantsConfig
	return r.unary(ctx, q)
}

func (r *rest) DeletePushConfig(ctx context.Context, taskID, configID string) (*Answer, error) {
	q := r.task(http.MethodDelete, taskID, "pushNotificationConfigs", configID)
	q.wants = wantsAnything
	return r.unary(ctx, q)
}

func (r *rest) ExtendedCard(ctx context.Context) (*Answer, error) {
	q := r.route(http.MethodGet, "extendedAgentCard")
	if r.endpoint().Generation != V10 {
		q = r.route(http.MethodGet, "card")
	}
	q.wants, q.repeatable = wantsCard, true
	return r.unary(ctx, q)
}

// route is a question by the path's segments, not escaped yet. Segments that a path cannot hold make it empty.
func (r *rest) route(method string, segments ...string) route {
	q := route{method: method, mediaType: "application/json"}
	if r.endpoint().Generation == V10 {
		if segmentsOf(r.at.Tenant) != nil {
			q.tenant = r.at.Tenant
		}
	} else {
		q.path = append(q.path, "v1")
	}
	for _, s := range segments {
		if !nameable(s) {
			return route{}
		}
		q.path = append(q.path, url.PathEscape(s))
	}
	return q
}

// nameable tells whether a path can hold a segment and still lead where it says: a peer that names its task ".." would have us ask for
// something else.
func nameable(segment string) bool { return segment != "" && segment != "." && segment != ".." }

// segmentsOf are the escaped segments of a tenant, which may be several; nil if a path cannot hold them.
func segmentsOf(tenant string) (list []string) {
	for s := range strings.SplitSeq(tenant, "/") {
		if !nameable(s) {
			return nil
		}
		list = append(list, url.PathEscape(s))
	}
	return list
}

func (r *rest) message(verb string, body object) route {
	q := r.route(http.MethodPost, "message")
	q.verb, q.body = ":"+verb, body
	return q
}

func (r *rest) task(method, id string, more ...string) route {
	q := r.route(method, append([]string{"tasks", id}, more...)...)
	q.onTask = true
	return q
}

// errUnnamable says that no path names a task or config of this id.
var errUnnamable = errors.New("the id cannot stand in a path")

// unary asks, and asks again in the other ways there are where a first one is not known.
func (r *rest) unary(ctx context.Context, q route) (*Answer, error) {
	for {
		a, x, err := r.ask(q, "application/a2a+json, application/json")
		if err != nil {
			return nil, err
		}
		answer, err := r.client.impl.unary(ctx, a, x)
		next, again := q.again(answer, err)
		if !again {
			return answer, err
		}
		q = next
	}
}

func (r *rest) stream(ctx context.Context, q route) (*Stream, error) {
	for {
		a, x, err := r.ask(q, "text/event-stream")
		if err != nil {
			return nil, err
		}
		s, err := r.client.impl.stream(ctx, a, x)
		var answer *Answer
		if s != nil {
			answer = s.Unary
		}
		next, again := q.again(answer, err)
		if !again {
			return s, err
		}
		q = next
	}
}

// again is the question put in another way, where the answer says that this way is not known there and did nothing.
func (q route) again(a *Answer, err error) (route, bool) {
	var e *Error
	switch {
	case errors.As(err, &e) && e.Class == ClassRoute && q.orGet:
		q.method, q.body, q.orGet = http.MethodGet, nil, false
	case errors.As(err, &e) && e.Class == ClassRoute && q.tenant != "":
		q.query = with(q.query, "tenant", q.tenant)
		q.tenant = ""
	case q.body != nil && q.mediaType == "application/json" && refusesJSON(a, err):
		q.mediaType = "application/a2a+json"
	default:
		return q, false
	}
	return q, true
}

// refusesJSON: a peer may want bodies called by 1.0.1's name, which those of 1.0.0 do not know.
func refusesJSON(a *Answer, err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Status == http.StatusUnsupportedMediaType
	}
	return a != nil && a.Err != nil && (a.Status == http.StatusUnsupportedMediaType || a.Err.Code == codeContentType)
}

func with(v url.Values, name, value string) url.Values {
	out := url.Values{name: {value}}
	for k, list := range v {
		out[k] = list
	}
	return out
}

// ask is the request of a question, and what its answer should look like.
func (r *rest) ask(q route, accept string) (ask, expect, error) {
	e := r.endpoint()
	if e.Generation == V01 {
		return ask{}, expect{}, ErrNoSuchMethod
	}
	if len(q.path) == 0 {
		return ask{}, expect{}, &Error{Class: ClassOrigin, Err: errUnnamable}
	}
	a := ask{method: q.method, url: q.below(e.URL), header: e.header(accept), repeatable: q.repeatable}
	if q.body != nil {
		body, err := json.Marshal(q.body)
		if err != nil {
			return ask{}, expect{}, &Error{Class: ClassMalformed, Err: fmt.Errorf("writing the request: %w", err)}
		}
		a.body = body
		a.header.Set("Content-Type", q.mediaType)
	}
	x := expect{generation: e.Generation, proto: true, bare: q.bare, wants: q.wants, rest: true, onTask: q.onTask}
	x.identity = e.Identity
	x.onCancel = q.verb == ":cancel"
	return a, x, nil
}

// below is the question's URL: the path is joined to the interface's own, whose query is kept.
func (q route) below(base *url.URL) *url.URL {
	if base == nil {
		return nil
	}
	u := *base
	escaped := strings.TrimRight(u.EscapedPath(), "/")
	if q.tenant != "" {
		escaped += "/" + strings.Join(segmentsOf(q.tenant), "/")
	}
	escaped += "/" + strings.Join(q.path, "/") + q.verb
	if path, err := url.PathUnescape(escaped); err == nil {
		u.Path, u.RawPath = path, escaped
	}
	if len(q.query) > 0 {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+q.query.Encode(), "&")
	}
	return &u
}
