package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A peer's Protobuf is rewritten as ProtoJSON in place instead of decoded into Go messages: a message of two bytes would
// become one of two hundred, a union keeps all of its members to be seen, a number that no enum has stays a number, and
// from there on one reader reads every binding. The rewriting bounds its depth and costs no more than some ten times the
// bytes that came.

var (
	errNoProto    = errors.New("no Protobuf message")
	errTooNested  = errors.New("nested too deep")
	jsonNull      = []byte("null")
	maxProtoDepth = 100 // of messages within messages, which is where most readers of Protobuf stop
)

// protoJSON rewrites a message as JSON. Fields that the descriptor does not know, or knows with another type, are left
// out, as every reader of Protobuf does; of a field that may be there once the last one counts.
func protoJSON(d protoreflect.MessageDescriptor, b []byte) ([]byte, error) {
	return appendMessage(nil, d, b, 0)
}

func appendMessage(out []byte, d protoreflect.MessageDescriptor, b []byte, depth int) ([]byte, error) {
	if depth > maxProtoDepth {
		return nil, errTooNested
	}
	fields, err := fieldsIn(d, b)
	if err != nil {
		return nil, err
	}
	switch d.FullName() {
	case "google.protobuf.Timestamp":
		return appendTime(out, d, b), nil
	case "google.protobuf.Struct", "google.protobuf.ListValue":
		return appendField(out, d.Fields().ByNumber(1), b, depth)
	case "google.protobuf.Value":
		if len(fields) == 0 {
			return append(out, jsonNull...), nil
		}
		return appendField(out, fields[len(fields)-1], b, depth)
	}
	out = append(out, '{')
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, f.JSONName()), ':')
		if out, err = appendField(out, f, b, depth); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// fieldsIn lists the fields that a message has, each once, and checks that it is well formed at this level.
func fieldsIn(d protoreflect.MessageDescriptor, b []byte) (list []protoreflect.FieldDescriptor, err error) {
	var last protoreflect.FieldNumber
	seen := map[protoreflect.FieldNumber]bool{}
	for len(b) > 0 {
		n, t, size := protowire.ConsumeField(b)
		if size < 0 {
			return nil, errNoProto
		}
		b = b[size:]
		if n == last {
			continue // most repeated fields come in a row
		}
		f := d.Fields().ByNumber(n)
		if f == nil || !fits(f, t) {
			continue
		}
		if last = n; !seen[n] {
			seen[n] = true
			list = append(list, f)
		}
	}
	return list, nil
}

// fits tells whether a field may come as this wire type. This protocol has no lists of numbers, which may come packed.
func fits(f protoreflect.FieldDescriptor, t protowire.Type) bool { return t == wireType(f.Kind()) }

func wireType(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}

// appendField writes the value of a field from a message that fieldsIn found well formed.
func appendField(out []byte, f protoreflect.FieldDescriptor, b []byte, depth int) ([]byte, error) {
	switch {
	case f.IsMap():
		return appendEach(out, '{', '}', f, b, func(out, v []byte) ([]byte, error) {
			return appendEntry(out, f, v, depth)
		})
	case f.IsList():
		return appendEach(out, '[', ']', f, b, func(out, v []byte) ([]byte, error) {
			return appendValue(out, f, v, depth)
		})
	}
	var last []byte
	_ = each(f, b, func(v []byte) error { last = v; return nil })
	return appendValue(out, f, last, depth)
}

// each calls do for every occurrence of a field, with its bytes behind the tag.
func each(f protoreflect.FieldDescriptor, b []byte, do func(v []byte) error) error {
	for len(b) > 0 {
		n, t, tag := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(n, t, b[max(tag, 0):])
		if tag < 0 || size < 0 {
			return errNoProto
		}
		if n == f.Number() && fits(f, t) {
			if err := do(b[tag : tag+size]); err != nil {
				return err
			}
		}
		b = b[tag+size:]
	}
	return nil
}

type appender func(out, v []byte) ([]byte, error)

// appendEach writes all occurrences of a field between brackets.
func appendEach(out []byte, open, shut byte, f protoreflect.FieldDescriptor, b []byte, one appender) ([]byte, error) {
	out = append(out, open)
	start := len(out)
	err := each(f, b, func(v []byte) (err error) {
		if len(out) > start {
			out = append(out, ',')
		}
		out, err = one(out, v)
		return err
	})
	return append(out, shut), err
}

// appendEntry writes one entry of a map as a member. All maps of this protocol have names for keys.
func appendEntry(out []byte, f protoreflect.FieldDescriptor, v []byte, depth int) ([]byte, error) {
	entry, _ := protowire.ConsumeBytes(v)
	fields, err := fieldsIn(f.Message(), entry)
	if err != nil {
		return nil, err
	}
	var key, val []byte
	for _, in := range fields {
		_ = each(in, entry, func(v []byte) error {
			if in.Number() == 1 {
				key, _ = protowire.ConsumeBytes(v)
			} else {
				val = v
			}
			return nil
		})
	}
	out = append(appendString(out, string(key)), ':')
	return appendValue(out, f.MapValue(), val, depth)
}

// appendValue writes one value, given its bytes on the wire; nil is the value of a field that is not there.
func appendValue(out []byte, f protoreflect.FieldDescriptor, v []byte, depth int) ([]byte, error) {
	switch f.Kind() {
	case protoreflect.MessageKind:
		inner, _ := protowire.ConsumeBytes(v)
		return appendMessage(out, f.Message(), inner, depth+1)
	case protoreflect.StringKind:
		text, _ := protowire.ConsumeBytes(v)
		return appendString(out, string(text)), nil
	case protoreflect.BytesKind:
		raw, _ := protowire.ConsumeBytes(v)
		return appendString(out, base64.StdEncoding.EncodeToString(raw)), nil
	case protoreflect.DoubleKind:
		bits, _ := protowire.ConsumeFixed64(v)
		return appendFloat(out, math.Float64frombits(bits)), nil
	case protoreflect.BoolKind:
		n, _ := protowire.ConsumeVarint(v)
		return strconv.AppendBool(out, n != 0), nil
	case protoreflect.EnumKind:
		n, _ := protowire.ConsumeVarint(v)
		return appendEnum(out, f.Enum(), int32(n)), nil //nolint:gosec // what a reader of Protobuf makes of it
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		n, _ := protowire.ConsumeVarint(v)
		return strconv.AppendInt(out, int64(n), 10), nil //nolint:gosec // two's complement
	}
	return append(out, jsonNull...), nil // a kind that this protocol has not
}

func appendEnum(out []byte, d protoreflect.EnumDescriptor, n int32) []byte {
	switch v := d.Values().ByNumber(protoreflect.EnumNumber(n)); {
	case d.FullName() == "google.protobuf.NullValue":
		return append(out, jsonNull...)
	case v != nil:
		return appendString(out, string(v.Name()))
	}
	return strconv.AppendInt(out, int64(n), 10)
}

// appendFloat writes a number; what JSON has no word for becomes null.
func appendFloat(out []byte, n float64) []byte {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return append(out, jsonNull...)
	}
	return strconv.AppendFloat(out, n, 'g', -1, 64)
}

func appendString(out []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // never fails on a string
	return append(out, quoted...)
}

// appendTime writes a timestamp as RFC 3339; one that is out of range is none.
func appendTime(out []byte, d protoreflect.MessageDescriptor, b []byte) []byte {
	var part [2]int64
	for i := range part {
		_ = each(d.Fields().ByNumber(protoreflect.FieldNumber(i+1)), b, func(v []byte) error {
			n, _ := protowire.ConsumeVarint(v)
			part[i] = int64(n) //nolint:gosec // two's complement
			return nil
		})
	}
	const first, last = -62135596800, 253402300799 // years 1 to 9999
	if part[0] < first || part[0] > last || part[1] < 0 || part[1] >= int64(time.Second) {
		return append(out, jsonNull...)
	}
	return append(append(append(out, '"'), time.Unix(part[0], part[1]).UTC().Format(time.RFC3339Nano)...), '"')
}
