package events

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The CloudEvents NATS protocol binding, version 1.0. It knows no NATS: a message is its header and its body.
const (
	headerPrefix     = "ce-"
	contentType      = "content-type"
	structuredPrefix = "application/cloudevents"
	batchPrefix      = "application/cloudevents-batch"
	structuredType   = "application/cloudevents+json"
)

// Decode reads a fact from a message in either content mode: structured if the header Content-Type says so, else binary if
// ce-specversion is there, else structured again, because sdk-go sends it without any header. Header names are read in any
// case. What is wrong is an *Invalid.
func Decode(header map[string][]string, body []byte) (Fact, error) {
	fields := lowerCase(header)
	media := strings.ToLower(fields[contentType])
	switch {
	case strings.HasPrefix(media, batchPrefix):
		return Fact{}, invalid("Content-Type", "one event a message; the NATS binding has no batches", media)
	case strings.HasPrefix(media, structuredPrefix) || fields[headerPrefix+"specversion"] == "":
		return decodeStructured(media, body)
	default:
		return decodeBinary(fields, body)
	}
}

func decodeBinary(fields map[string]string, body []byte) (Fact, error) {
	attributes := map[string]string{"datacontenttype": fields[contentType]}
	for name, value := range fields {
		if attribute, ok := strings.CutPrefix(name, headerPrefix); ok {
			attributes[attribute] = percentDecode(value)
		}
	}
	return envelope{attributes: attributes, data: body}.fact()
}

func decodeStructured(media string, body []byte) (Fact, error) {
	if strings.HasPrefix(media, structuredPrefix) && !isJSON(media) {
		return Fact{}, invalid("Content-Type", structuredType, media)
	}
	if strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 64)]), " \t\r\n"), "[") {
		return Fact{}, invalid("", "one event a message; the NATS binding has no batches", "a JSON list")
	}
	var members map[string]json.RawMessage
	if err := unmarshal("", body, &members); err != nil {
		return Fact{}, err
	}
	envelope, err := readMembers(members)
	if err != nil {
		return Fact{}, err
	}
	return envelope.fact()
}

// readMembers splits a structured event (CloudEvents JSON format, section 3) into attributes and data.
func readMembers(members map[string]json.RawMessage) (envelope, error) {
	out := envelope{attributes: map[string]string{}, data: members["data"]}
	if encoded, ok := members["data_base64"]; ok {
		data, err := readBase64(encoded)
		if err != nil || members["data"] != nil {
			return envelope{}, invalid("data_base64", "base64, and no data beside it", string(encoded))
		}
		out.data = data
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == "data" || name == "data_base64" {
			continue
		}
		value, err := attributeText(name, members[name])
		if err != nil {
			return envelope{}, err
		}
		out.attributes[name] = value
	}
	return out, nil
}

func readBase64(raw json.RawMessage) ([]byte, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}

// attributeText takes an attribute as a string: in binary mode integers and booleans become strings, so they are the same.
func attributeText(name string, raw json.RawMessage) (string, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", invalid(name, "a string", string(raw))
	}
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case float64, bool:
		return string(raw), nil
	}
	return "", invalid(name, "a string", string(raw))
}

// lowerCase keeps the first value of each header. Where two names differ by case only, the one that sorts first counts.
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

// Encode writes a fact in binary mode. Beside what Validate asks, id, source, causation and trace must be visible ASCII
// without %, quotes and spaces, so that every CloudEvents implementation reads what was meant.
func Encode(f Fact) (header map[string][]string, body []byte, err error) {
	envelope, err := f.seal()
	if err != nil {
		return nil, nil, err
	}
	header = make(map[string][]string, len(envelope.attributes))
	for name, value := range envelope.attributes {
		header[headerPrefix+name] = []string{percentEncode(value)}
	}
	return header, envelope.data, nil
}

// EncodeStructured writes a fact in structured mode, for tools and for tests; Stoker itself writes binary mode.
func EncodeStructured(f Fact) (header map[string][]string, body []byte, err error) {
	envelope, err := f.seal()
	if err != nil {
		return nil, nil, err
	}
	if body, err = envelope.json(); err != nil {
		return nil, nil, err
	}
	return map[string][]string{"Content-Type": {structuredType}}, body, nil
}

// seal checks a fact that is to be written.
func (f Fact) seal() (envelope, error) {
	if err := first(f.Validate(), f.plain(), checkSource(f.Source)); err != nil {
		return envelope{}, err
	}
	data, err := json.Marshal(f.Data)
	if err != nil {
		return envelope{}, fmt.Errorf("encode data of fact %s: %w", f.ID, err)
	}
	return f.envelope(data), nil
}
