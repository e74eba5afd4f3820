package wire

import "strings"

// Identity says what tells tasks apart besides their ids, for peers behind a gateway that rewrites those (design 4.14). At most one field
// is set; neither: ids alone.
type Identity struct {
	// Metadata is the name of a member of the metadata of tasks, updates and messages.
	Metadata string
	// Header is the name of a header of the HTTP response, or of a key of gRPC's response metadata.
	Header string
}

// maxCorrelation is how long a correlation may be, in bytes. A longer one counts as absent.
const maxCorrelation = 256

// correlation in the metadata of a thing, or else of the message of its status.
func (i Identity) correlation(f fields) string {
	if i.Metadata == "" {
		return ""
	}
	if c := bounded(f.metadata.get(i.Metadata).word()); c != "" {
		return c
	}
	return bounded(f.status.get("message").get("metadata").get(i.Metadata).word())
}

func bounded(s string) string {
	if s = strings.TrimSpace(s); len(s) > maxCorrelation {
		return ""
	}
	return strings.Clone(s) // the space around it may be megabytes
}

// identify gives an event the correlation that a header carries. A header that comes twice says nothing.
func (r *reply) identify(e *Event, i Identity) {
	if i.Header == "" || r == nil || r.Response == nil {
		return
	}
	values := r.Header.Values(i.Header)
	if len(values) == 0 {
		values = r.Trailer.Values(i.Header)
	}
	if len(values) == 1 {
		e.Correlation = bounded(values[0])
	}
}
