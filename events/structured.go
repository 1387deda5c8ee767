package events

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// readStructured splits an event in the CloudEvents JSON format (section 3) into attributes and
// data.
//
// The SDK writes this format (format.JSON), but its reader is not used: it (2.16.2) panics on
// "data_base64": 1, ends at a member with an empty name as if the event were complete, accepts only
// 32-bit integers, and its errors name no attribute.
func readStructured(body []byte) (attributes map[string]string, data []byte, err error) {
	if strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 64)]), " \t\r\n"), "[") {
		return nil, nil, invalid("", "one event per message, not a batch", "a JSON list")
	}
	var members map[string]json.RawMessage
	if err := unmarshal("", body, &members); err != nil {
		return nil, nil, err
	}
	if data, err = structuredData(members); err != nil {
		return nil, nil, err
	}
	attributes = make(map[string]string, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == "data" || name == "data_base64" {
			continue
		}
		if attributes[name], err = attributeText(name, members[name]); err != nil {
			return nil, nil, err
		}
	}
	return attributes, data, nil
}

func structuredData(members map[string]json.RawMessage) ([]byte, error) {
	encoded, ok := members["data_base64"]
	if !ok {
		return members["data"], nil
	}
	data, err := readBase64(encoded)
	if err != nil || members["data"] != nil {
		return nil, invalid("data_base64", "base64, and no member data beside it", string(encoded))
	}
	return data, nil
}

func readBase64(raw json.RawMessage) ([]byte, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}

// attributeText returns an attribute as a string: in binary mode integers and booleans become
// strings, so they are equal.
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
