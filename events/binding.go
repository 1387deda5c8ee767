package events

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/binding/format"
	"github.com/cloudevents/sdk-go/v2/binding/spec"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
)

// The CloudEvents NATS protocol binding, version 1.0, as a binding of the CloudEvents SDK. It does
// not import NATS: a message is a header and a body, which events/jetstream transports.
//
// The SDK's own protocol modules for JetStream (protocol/nats_jetstream, v2 and v3) are not used,
// because a protocol of the SDK is a pair of Send and Receive, and the contract of the bus needs
// more:
//
//   - Publish is a compare-and-swap on the event's subject (expected last sequence 0) that returns
//     the sequence, and distinguishes a repeated event from a different one. Both Senders discard
//     the answer of JetStream. v2 creates a stream if there is none.
//   - Readers fetch one message each, renew it while they work, hand it back with a delay, count
//     its deliveries, wait until the acknowledgment is confirmed, and write a dead letter first.
//     Finish of v2 does nothing; that of v3 acknowledges without confirmation or hands back at
//     once. Both prefetch, and v3 creates or updates the consumer, for which a reader's account has
//     no permission.
//   - A message that is no event must be dead-lettered with its bytes and the name of the bad
//     field. Both accept only header names in lower case, do not decode percent-encoding (section
//     3.1.3.2 of the binding), and name no field.
const (
	headerPrefix     = "ce-"
	contentType      = "content-type"
	structuredPrefix = "application/cloudevents"
	batchPrefix      = "application/cloudevents-batch"
	structuredType   = cloudevents.ApplicationCloudEventsJSON
)

var attributes = spec.VS.Version(specVersion).Attributes() // of CloudEvents 1.0

// Decode reads an event from a message in either content mode: structured if the header
// Content-Type says so, else binary if ce-specversion is set, else structured again, because sdk-go
// sends that without any header. Header names are case-insensitive. The error for an invalid event
// is an *Invalid.
func Decode(header map[string][]string, body []byte) (Event, error) {
	m := natsMessage{fields: lowerCase(header), body: body, encoding: binding.EncodingBinary}
	media := strings.ToLower(m.fields[contentType])
	switch {
	case strings.HasPrefix(media, batchPrefix):
		return Event{}, invalid("Content-Type", "one event per message, because the NATS binding has no batches", media)
	case strings.HasPrefix(media, structuredPrefix) && !isJSON(media):
		return Event{}, invalid("Content-Type", structuredType, media)
	case strings.HasPrefix(media, structuredPrefix) || m.fields[headerPrefix+"specversion"] == "":
		m.encoding = binding.EncodingStructured
	}
	return DecodeMessage(m)
}

// DecodeMessage reads an event from a message of any protocol binding of the CloudEvents SDK, in
// binary or in structured mode. It percent-decodes attributes in headers, which the bindings for
// NATS and HTTP require and the SDK leaves out. The error for an invalid event is an *Invalid; an
// error in reading the body is returned as it is.
func DecodeMessage(m binding.MessageReader) (Event, error) {
	read, err := readMessage(context.Background(), m)
	if err != nil {
		return Event{}, err
	}
	e, err := read.event()
	if err != nil {
		return Event{}, err
	}
	return FromCloudEvent(e)
}

func readMessage(ctx context.Context, m binding.MessageReader) (read eventWriter, err error) {
	switch m.ReadEncoding() {
	case binding.EncodingStructured:
		err = m.ReadStructured(ctx, &read)
	case binding.EncodingBinary, binding.EncodingEvent:
		err = m.ReadBinary(ctx, &read)
	default:
		err = invalid("specversion", specVersion+", or the content type "+structuredType, "")
	}
	return read, err
}

// natsMessage is a message of NATS in the form in which the SDK reads messages.
type natsMessage struct {
	fields   map[string]string // by their names in lower case
	body     []byte
	encoding binding.Encoding
}

var _ binding.MessageReader = natsMessage{}

func (m natsMessage) ReadEncoding() binding.Encoding { return m.encoding }

func (m natsMessage) ReadStructured(ctx context.Context, w binding.StructuredWriter) error {
	if m.encoding != binding.EncodingStructured {
		return binding.ErrNotStructured
	}
	return w.SetStructuredEvent(ctx, format.JSON, bytes.NewBuffer(m.body))
}

func (m natsMessage) ReadBinary(_ context.Context, w binding.BinaryWriter) error {
	rest := maps.Clone(m.fields)
	if media, ok := rest[contentType]; ok && rest[headerPrefix+"datacontenttype"] == "" {
		rest[headerPrefix+"datacontenttype"] = media
	}
	for _, attribute := range attributes {
		name := headerPrefix + attribute.Name()
		if err := w.SetAttribute(attribute, rest[name]); err != nil {
			return err
		}
		delete(rest, name)
	}
	for name, value := range rest {
		if extension, ok := strings.CutPrefix(name, headerPrefix); ok {
			if err := w.SetExtension(extension, value); err != nil {
				return err
			}
		}
	}
	return w.SetData(bytes.NewBuffer(m.body))
}

// lowerCase keeps the first value of each header. If two names differ only by case, the one that
// sorts first is kept.
func lowerCase(header map[string][]string) map[string]string {
	fields := make(map[string]string, len(header))
	for _, name := range slices.Sorted(maps.Keys(header)) {
		lower := strings.ToLower(name)
		if _, there := fields[lower]; !there && len(header[name]) > 0 {
			fields[lower] = header[name][0]
		}
	}
	return fields
}

// eventWriter collects the parts of a message that the SDK reads, in either mode. The SDK's own
// (binding.ToEvent) is not used: it trims spaces off ids and subjects, and its errors name no
// field.
type eventWriter struct {
	attributes map[string]string
	data       []byte
}

var (
	_ binding.BinaryWriter     = (*eventWriter)(nil)
	_ binding.StructuredWriter = (*eventWriter)(nil)
)

func (w *eventWriter) Start(context.Context) error { return nil }
func (w *eventWriter) End(context.Context) error   { return nil }

func (w *eventWriter) SetAttribute(attribute spec.Attribute, value any) error {
	return w.SetExtension(attribute.Name(), value)
}

func (w *eventWriter) SetExtension(name string, value any) error {
	text, err := types.Format(value)
	if err != nil {
		return invalid(name, "a string", fmt.Sprint(value))
	}
	if w.attributes == nil {
		w.attributes = map[string]string{}
	}
	w.attributes[name] = percentDecode(text)
	return nil
}

func (w *eventWriter) SetData(data io.Reader) (err error) {
	w.data, err = readAll(data)
	return err
}

func (w *eventWriter) SetStructuredEvent(_ context.Context, f format.Format, body io.Reader) error {
	if f.MediaType() != structuredType {
		return invalid("Content-Type", structuredType, f.MediaType())
	}
	text, err := readAll(body)
	if err != nil {
		return err
	}
	w.attributes, w.data, err = readStructured(text)
	return err
}

// readAll does not copy data that is in memory already.
func readAll(r io.Reader) ([]byte, error) {
	if buffer, ok := r.(*bytes.Buffer); ok {
		return buffer.Bytes(), nil
	}
	return io.ReadAll(r)
}

// Encode writes an event in binary mode. In addition to the requirements of Validate, id, source,
// causation and trace must be visible ASCII without %, quotes and spaces, so that every CloudEvents
// implementation reads them unchanged.
func Encode(f Event) (header map[string][]string, body []byte, err error) {
	e, err := f.CloudEvent()
	if err != nil {
		return nil, nil, err
	}
	written := headerWriter{header: map[string][]string{}}
	if _, err := binding.Write(context.Background(), binding.ToMessage(&e), nil, &written); err != nil {
		return nil, nil, fmt.Errorf("encode event %s: %w", f.ID, err)
	}
	return written.header, written.body, nil
}

// EncodeStructured writes an event in structured mode, for tools and for tests; Stoker itself
// writes binary mode.
func EncodeStructured(f Event) (header map[string][]string, body []byte, err error) {
	e, err := f.CloudEvent()
	if err != nil {
		return nil, nil, err
	}
	if body, err = format.JSON.Marshal(&e); err != nil {
		return nil, nil, fmt.Errorf("encode event %s: %w", f.ID, err)
	}
	return map[string][]string{"Content-Type": {structuredType}}, body, nil
}

// headerWriter writes the SDK's output to a message of NATS.
type headerWriter struct {
	header map[string][]string
	body   []byte
}

var _ binding.BinaryWriter = (*headerWriter)(nil)

func (w *headerWriter) Start(context.Context) error { return nil }
func (w *headerWriter) End(context.Context) error   { return nil }

func (w *headerWriter) SetAttribute(attribute spec.Attribute, value any) error {
	return w.SetExtension(attribute.Name(), value)
}

func (w *headerWriter) SetExtension(name string, value any) error {
	text, err := types.Format(value)
	if err != nil {
		return err
	}
	w.header[headerPrefix+name] = []string{percentEncode(text)}
	return nil
}

func (w *headerWriter) SetData(data io.Reader) (err error) {
	w.body, err = readAll(data)
	return err
}

// percentEncode encodes the characters for which the NATS binding requires it (section 3.1.3.2):
// space, ", % and everything outside visible ASCII.
func percentEncode(value string) string {
	var out strings.Builder
	for _, b := range []byte(value) {
		if b <= ' ' || b >= 0x7f || b == '"' || b == '%' {
			out.Write([]byte{'%', escapeDigits[b>>4], escapeDigits[b&15]})
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}

// percentDecode keeps invalid escapes unchanged: other implementations send an unescaped %.
func percentDecode(value string) string {
	if !strings.Contains(value, "%") {
		return value
	}
	var out []byte
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			if b, err := strconv.ParseUint(value[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(b))
				i += 2
				continue
			}
		}
		out = append(out, value[i])
	}
	return string(out)
}
