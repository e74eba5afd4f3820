package probe

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/agentpeer/agentpeer/internal/wire"
)

// selfCalls is how often we call our own webhook, each time on a new connection: it may lead to one replica of several, and each has to
// get it to us.
const selfCalls = 3

// selfCall says whether a webhook of ours reaches us by the URL that peers are given. It is the control of every silence: the fault may be
// before our own door.
type selfCall struct {
	// Made is false where nobody needed to know.
	Made bool
	// Reached: every call came to us. Whole: with its headers; something on the way may take Authorization out.
	Reached, Whole bool
}

func (c selfCall) good() bool { return c.Made && c.Reached && c.Whole }

// callSelf calls a webhook of its own, so that nothing mixes with what peers deliver.
func (s *session) callSelf(ctx context.Context) selfCall {
	c := selfCall{Made: true}
	d, err := s.openDoor()
	if err != nil {
		return c
	}
	defer d.close()
	ctx, cancel := s.unary(ctx)
	defer cancel()
	c.Reached, c.Whole = true, true
	for range selfCalls {
		reached, whole := d.knock(ctx)
		if c.Reached, c.Whole = reached, c.Whole && whole; !reached {
			return selfCall{Made: true}
		}
	}
	return c
}

// door is a webhook of our own, and the way to it that peers have.
type door struct {
	hook   *webhook
	url    *url.URL
	client *wire.Client
}

func (s *session) openDoor() (*door, error) {
	h, err := s.openWebhook()
	if err != nil {
		return nil, err
	}
	base := s.env.Receiver.Base()
	client, err := wire.NewClient(wire.Options{AllowHosts: []string{hostPort(base)}, UserAgent: s.env.UserAgent})
	if err != nil {
		h.done()
		return nil, err
	}
	d := &door{hook: h, client: client}
	if d.url, err = base.Parse(h.config.URL); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *door) close() {
	d.client.Close()
	d.hook.done()
}

// knock calls once, on a new connection, and says whether that came to us, and with its headers.
func (d *door) knock(ctx context.Context) (reached, whole bool) {
	c := d.hook.config
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {c.Scheme + " " + c.Credentials}}
	for _, name := range tokenHeaders {
		header.Set(name, c.Token)
	}
	fresh := d.client.Fresh()
	status, err := fresh.Post(ctx, d.url, header, []byte(`{"statusUpdate":{"taskId":"self","status":{"state":"TASK_STATE_WORKING"}}}`))
	fresh.Close()
	came := d.hook.drain()
	if err != nil || status < 200 || status > 299 || len(came) == 0 {
		return false, false
	}
	whole = true
	for _, one := range came {
		whole = whole && one.Token == secretRight && one.Auth == secretRight && !one.Unread
	}
	return true, whole
}

// vigil calls a webhook of our own again and again while a peer should call its own. Before and after are not enough: whoever fills our places
// for a minute, or those of one replica, makes a peer silent and is gone.
type vigil struct {
	end func()

	mu    sync.Mutex
	calls []vigilCall
}

type vigilCall struct {
	began          time.Time
	reached, whole bool
}

// senderPatience is when some senders give up (wire reference 7.4): a call that takes longer is as good as none.
const senderPatience = 5 * time.Second

// vigilPause is the time between two calls. The last silence has room for several, and an honest peer has mostly called before the first.
func vigilPause(t Timing) time.Duration { return pushPatience(t) / 6 }

// keepVigil begins to call; end waits for that to be over. Where our door is closed already there is nothing to watch.
func (s *session) keepVigil(ctx context.Context, before selfCall) *vigil {
	v := &vigil{end: func() {}}
	if !before.good() {
		return v
	}
	d, err := s.openDoor()
	if err != nil {
		return v
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer d.close()
		defer func() {
			if recover() != nil { // nobody is above this goroutine; a call that did not come accuses nobody
				v.note(vigilCall{})
			}
		}()
		for pause(ctx, vigilPause(s.timing)) {
			v.add(ctx, d, min(s.timing.FirstEvent, senderPatience))
		}
	}()
	v.end = func() {
		cancel()
		<-ended
	}
	return v
}

// add makes one call. One that we broke off ourselves tells nothing.
func (v *vigil) add(ctx context.Context, d *door, patience time.Duration) {
	one, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := vigilCall{began: time.Now()}
	c.reached, c.whole = d.knock(one)
	if ctx.Err() != nil {
		return
	}
	v.note(c)
}

func (v *vigil) note(c vigilCall) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, c)
}

// since ends the vigil and says what it saw. It says nothing where less than two calls were made since the silence began.
func (v *vigil) since(silent time.Time) selfCall {
	v.end()
	v.mu.Lock()
	defer v.mu.Unlock()
	meanwhile, all := 0, selfCall{Reached: true, Whole: true}
	for _, c := range v.calls {
		all.Reached, all.Whole = all.Reached && c.reached, all.Whole && c.whole
		if !c.began.Before(silent) {
			meanwhile++
		}
	}
	all.Made = meanwhile >= 2
	return all
}

// hostPort of a URL, with the scheme's own port where it names none.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
