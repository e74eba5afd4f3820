package v1alpha1

import (
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// HasTarget tells whether target, as status.target has it, is whom the spec names now: its url, or its Service as
// scheme://name.namespace.svc:port/path. Which number a port has that the spec gives by name only the Service knows, so any will do there.
// A spec without an address names nobody. Where spec and target are written alike, nothing is allocated.
func (p *AgentPeer) HasTarget(target string) bool {
	if ref := p.Spec.ServiceRef; ref != nil {
		return ref.isAt(p.Namespace, target)
	}
	if p.Spec.URL == "" || p.Spec.URL == target {
		return p.Spec.URL != ""
	}
	u, err := url.Parse(p.Spec.URL)
	return err == nil && u.String() == target
}

func (r *ServiceReference) isAt(namespace, target string) bool {
	scheme, path := r.Scheme, r.Path
	if scheme == "" {
		scheme = "http"
	}
	if path == "" {
		path = "/"
	}
	rest := target
	for _, part := range [...]string{scheme, "://", r.Name, ".", namespace, ".svc:"} {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, part); !ok {
			return false
		}
	}
	end := strings.IndexByte(rest, '/')
	if end < 0 {
		return false
	}
	number, err := strconv.ParseUint(rest[:end], 10, 16)
	if err != nil || r.Port.Type == intstr.Int && int64(r.Port.IntVal) != int64(number) {
		return false
	}
	if rest[end:] == path {
		return true
	}
	u, err := url.Parse(path)
	return err == nil && u.EscapedPath() == rest[end:]
}
