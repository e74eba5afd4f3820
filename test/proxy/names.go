package proxy

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// names are the ids that the gateway has given to tasks. The zero value has given none.
type names struct {
	mu sync.Mutex
	// once holds the one id of a task for ever, back the task of every id ever given.
	once, back map[string]string
}

// fresh holds the ids given in one answer: within it a task keeps its id.
type fresh map[string]string

// idMember is a member that may hold a task's id.
var idMember = regexp.MustCompile(`"(id|taskId)"(\s*:\s*)"([^"]{8,80})"`)

// rename gives the tasks in the JSON of an answer other ids. request is the raw id of the JSON-RPC request, which is no task's.
func (n *names) rename(body []byte, request, how string, each fresh) []byte {
	return idMember.ReplaceAllFunc(body, func(m []byte) []byte {
		parts := idMember.FindSubmatch(m)
		id := string(parts[3])
		if string(parts[1]) == "id" && `"`+id+`"` == request {
			return m
		}
		return fmt.Appendf(nil, `"%s"%s"%s"`, parts[1], parts[2], n.name(id, how, each))
	})
}

func (n *names) name(id, how string, each fresh) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.once == nil {
		n.once, n.back = map[string]string{}, map[string]string{}
	}
	given := n.once
	if how == Each {
		given = each
	}
	if given[id] == "" {
		given[id] = newID()
		n.back[given[id]] = id
	}
	return given[id]
}

// original puts the tasks' own ids back into a path.
func (n *names) original(path string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.back) == 0 {
		return path
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		id, verb, _ := strings.Cut(part, ":")
		if own, ok := n.back[id]; ok {
			parts[i] = own
			if verb != "" {
				parts[i] += ":" + verb
			}
		}
	}
	return strings.Join(parts, "/")
}

// originalBody puts them back into a request.
func (n *names) originalBody(body []byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.back) == 0 {
		return body
	}
	return idMember.ReplaceAllFunc(body, func(m []byte) []byte {
		parts := idMember.FindSubmatch(m)
		if own, ok := n.back[string(parts[3])]; ok {
			return bytes.Replace(m, parts[3], []byte(own), 1)
		}
		return m
	})
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
