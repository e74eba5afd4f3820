package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkCard is what one request costs without its connection.
func BenchmarkCard(b *testing.B) {
	d := newDesk(&testing.T{})
	r := httptest.NewRequest(http.MethodGet, cardURL, nil)
	r.Header.Set("Authorization", "Bearer "+good())
	b.ReportAllocs()
	for b.Loop() {
		d.cards.ServeHTTP(httptest.NewRecorder(), r)
	}
}
