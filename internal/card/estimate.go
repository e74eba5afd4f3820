package card

import (
	"encoding/json"
	"time"

	"github.com/agentpeer/agentpeer/client/lifecycle"
)

// estimate is a skill's estimatedDuration, beside its id or in its metadata; no generation defines the member, so
// anything that cannot be read is none.
func (p *parser) estimate(skill object) time.Duration {
	if d := readDuration(skill["estimatedDuration"]); d > 0 {
		return d
	}
	if !skill.present("metadata") {
		return 0
	}
	meta, _ := p.object(skill["metadata"])
	return readDuration(meta["estimatedDuration"])
}

// readDuration reads a number of seconds or an ISO 8601 duration; zero if it is neither, not positive, or a day and more.
func readDuration(raw json.RawMessage) time.Duration {
	text, ok := readText(raw)
	if !ok {
		return 0
	}
	d, _ := lifecycle.ParseEstimate(text)
	return d
}
