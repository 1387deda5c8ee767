package schemagen

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Text returns the schema as schema.pbtxt: protocol buffers' text format as TensorFlow's tools
// write it, and always the same bytes, which Go's own library does not guarantee.
func (s *Schema) Text() []byte {
	var out bytes.Buffer
	writeMessage(&out, "", s.Proto.ProtoReflect())
	return out.Bytes()
}

// writeMessage writes the fields that are set by their numbers.
func writeMessage(out *bytes.Buffer, indent string, m protoreflect.Message) {
	type field struct {
		descriptor protoreflect.FieldDescriptor
		value      protoreflect.Value
	}
	var all []field
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		all = append(all, field{d, v})
		return true
	})
	slices.SortFunc(all, func(a, b field) int { return cmp.Compare(a.descriptor.Number(), b.descriptor.Number()) })
	for _, f := range all {
		if !f.descriptor.IsList() {
			writeField(out, indent, f.descriptor, f.value)
			continue
		}
		for list, i := f.value.List(), 0; i < list.Len(); i++ {
			writeField(out, indent, f.descriptor, list.Get(i))
		}
	}
}

func writeField(out *bytes.Buffer, indent string, d protoreflect.FieldDescriptor, v protoreflect.Value) {
	if d.Message() != nil {
		fmt.Fprintf(out, "%s%s {\n", indent, d.Name())
		writeMessage(out, indent+"  ", v.Message())
		fmt.Fprintf(out, "%s}\n", indent)
		return
	}
	fmt.Fprintf(out, "%s%s: %s\n", indent, d.Name(), literal(d, v))
}

func literal(d protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch d.Kind() {
	case protoreflect.StringKind:
		return quote(v.String())
	case protoreflect.EnumKind:
		return string(d.Enum().Values().ByNumber(v.Enum()).Name())
	case protoreflect.DoubleKind:
		text := strconv.FormatFloat(v.Float(), 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	}
	return v.String()
}

// quote escapes all but printable ASCII, as the text format of Python does.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '"' || c == '\'' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&out, `\%03o`, c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
