package probe

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// sample is the message by which a declared input mode is asked for: the user's own if there is one, else a small and harmless one of the
// commonest types. Nil: there is none, and the mode is not asked. Parameters of a media type make it another type, of which we have none.
func (s *session) sample(mode string) *Fixture {
	spelling := s.spelling(mode)
	if spelling.Declared == "" {
		return nil
	}
	f := s.job.Target.Fixtures.Modes[mode]
	if f == nil {
		part, ok := samplePart(mode, s.generation())
		if !ok || spelling.Parameters {
			return nil
		}
		f = &Fixture{Parts: []Part{part}}
	}
	return f.named(mode, spelling.Declared)
}

// spelling is how the card writes one of its input modes.
func (s *session) spelling(mode string) card.Spelling {
	if s.card == nil {
		return card.Spelling{Declared: mode}
	}
	return s.card.InputMode(mode)
}

// named is the message with the parts of one mode under the name that the card has for it. Peers may read nothing but that name, letter by
// letter; 0.x has a place for it in files only.
func (f *Fixture) named(mode, declared string) *Fixture {
	named := *f
	named.Parts = slices.Clone(f.Parts)
	for i, p := range named.Parts {
		if modeOf(p) == mode {
			named.Parts[i].MediaType = declared
		}
	}
	return &named
}

// samplePart makes one part. A part of text names no media type in 0.x, so that no other text than plain can be asked for there.
func samplePart(mode string, g wire.Generation) (Part, bool) {
	switch mode {
	case "text/plain", "text/*", "*/*":
		return Part{Text: "ping", MediaType: "text/plain"}, true
	case "application/json", "application/*":
		return Part{Data: json.RawMessage(`{"text":"ping"}`), MediaType: "application/json"}, true
	case "text/markdown", "text/html", "text/csv":
		text := map[string]string{"text/markdown": "# ping\n", "text/html": "<p>ping</p>", "text/csv": "word\nping\n"}[mode]
		return Part{Text: text, MediaType: mode}, g == wire.V10
	case "image/*":
		return Part{Raw: picture("image/png"), MediaType: "image/png"}, true
	case "image/png", "image/jpeg", "image/gif":
		return Part{Raw: picture(mode), MediaType: mode}, true
	case "audio/*":
		return Part{Raw: silence(), MediaType: "audio/wav"}, true
	case "audio/wav":
		return Part{Raw: silence(), MediaType: mode}, true
	case "application/pdf":
		return Part{Raw: page(), MediaType: mode}, true
	}
	return Part{}, false
}

// picture is a grey square of 16 pixels.
func picture(mode string) []byte {
	grey := image.NewPaletted(image.Rect(0, 0, 16, 16), color.Palette{color.Gray{Y: 128}})
	var b bytes.Buffer
	switch mode {
	case "image/png":
		_ = png.Encode(&b, grey) // writing to memory never fails
	case "image/jpeg":
		_ = jpeg.Encode(&b, grey, nil)
	case "image/gif":
		_ = gif.Encode(&b, grey, nil)
	}
	return b.Bytes()
}

// silence is a tenth of a second of nothing: one channel of 8,000 samples a second, 8 bits each.
func silence() []byte {
	const rate, samples = 8000, 800
	var b bytes.Buffer
	le := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	b.WriteString("RIFF")
	le(uint32(36 + samples))
	b.WriteString("WAVEfmt ")
	le(uint32(16))
	le([]uint16{1, 1})
	le([]uint32{rate, rate})
	le([]uint16{1, 8})
	b.WriteString("data")
	le(uint32(samples))
	b.Write(bytes.Repeat([]byte{128}, samples))
	return b.Bytes()
}

// page is a PDF of one empty page.
func page() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>",
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := b.Len()
	b.WriteString("xref\n0 4\n0000000000 65535 f \n")
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", table)
	return b.Bytes()
}
