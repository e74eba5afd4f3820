package probe

import "sync/atomic"

// Errands of a round besides its questions, which go by the names of their capabilities.
const (
	ErrandCard       = "Card"
	ErrandKeys       = "Keys"
	ErrandReach      = "Reachability"
	ErrandInterfaces = "Interfaces"
	ErrandConfirm    = "CardAgain"
	ErrandCleanUp    = "CleanUp"
)

// errand is what a session is at, so that every exchange can say what it was for. Questions that share an exchange find it under the name of
// the one that was asked first.
type errand struct{ word atomic.Pointer[string] }

func (e *errand) begin(word string) { e.word.Store(&word) }

func (e *errand) name() string {
	if w := e.word.Load(); w != nil {
		return *w
	}
	return ""
}
