package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// unmarshal decodes body into out. Unknown fields are ignored, so that newer publishers are
// understood; a value of the wrong type is an *Invalid with its exact path below field.
func unmarshal(field string, body []byte, out any) error {
	err := json.Unmarshal(body, out)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return below(field, &Invalid{Field: pathAt(body, wrong.Offset), Expected: expected(wrong), Got: "JSON " + wrong.Value})
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &Invalid{Field: field, Expected: "JSON", Got: fmt.Sprintf("%s at byte %d", syntax.Error(), syntax.Offset)}
	}
	return &Invalid{Field: field, Expected: "JSON of the documented schema", Got: err.Error()}
}

// expected names a Go type in terms of JSON.
func expected(wrong *json.UnmarshalTypeError) string {
	switch kind := wrong.Type.Kind().String(); {
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number, 0 or more"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "slice":
		return "a list"
	case kind == "struct" || kind == "map":
		return "an object"
	case kind == "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}

// pathAt returns the JSON path of the innermost value that holds the byte before offset, the
// position at which encoding/json reports a wrong type. encoding/json's own Field has no list
// indexes.
func pathAt(body []byte, offset int64) string {
	decoder := json.NewDecoder(bytes.NewReader(body))
	var walk func(path string) (string, bool)
	walk = func(path string) (string, bool) {
		token, err := decoder.Token()
		if err != nil {
			return path, true
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			if decoder.InputOffset() >= offset {
				return path, true
			}
			return walkInside(decoder, token.(json.Delim), path, walk)
		}
		return path, decoder.InputOffset() >= offset
	}
	path, _ := walk("")
	return strings.TrimPrefix(path, ".")
}

func walkInside(decoder *json.Decoder, open json.Delim, path string, walk func(string) (string, bool)) (string, bool) {
	for i := 0; decoder.More(); i++ {
		at := fmt.Sprintf("%s[%d]", path, i)
		if open == '{' {
			key, err := decoder.Token()
			if err != nil {
				return path, true
			}
			at = fmt.Sprintf("%s.%s", path, key)
		}
		if found, ok := walk(at); ok {
			return found, true
		}
	}
	_, err := decoder.Token()
	return path, errors.Is(err, io.EOF)
}
