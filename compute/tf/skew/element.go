package skew

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// element is one value of a prediction: a number, a string, or what may be both, as "NaN" is.
type element struct {
	number           float64
	text             string
	isNumber, isText bool
}

// words are the numbers that JSON has no numbers for.
var words = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

// UnmarshalJSON reads a number, a string, or {"b64": a string's bytes}.
func (e *element) UnmarshalJSON(text []byte) error {
	var bytes struct {
		B64 *[]byte `json:"b64"`
	}
	switch {
	case json.Unmarshal(text, &e.number) == nil && string(text) != "null":
		e.isNumber = true
	case json.Unmarshal(text, &e.text) == nil && string(text) != "null":
		e.isText = true
		e.number, e.isNumber = words[e.text]
	case json.Unmarshal(text, &bytes) == nil && bytes.B64 != nil:
		e.text, e.isText = string(*bytes.B64), true
	default:
		return fmt.Errorf("expected a number or a string, got %.40s", text)
	}
	return nil
}

// valuesOf are the elements of one output: strings, if all of them may be, or numbers.
func valuesOf(list []element) (values, error) {
	var floats []float64
	var texts []string
	for _, e := range list {
		if e.isNumber {
			floats = append(floats, e.number)
		}
		if e.isText {
			texts = append(texts, e.text)
		}
	}
	switch len(list) {
	case len(texts):
		return values{texts: texts}, nil
	case len(floats):
		return values{floats: floats}, nil
	}
	return values{}, errors.New("holds numbers and strings")
}

// like is v as the numbers that its words mean, if served holds no strings and all of v's are such
// words.
func (v values) like(served values) values {
	if served.texts != nil || v.texts == nil {
		return v
	}
	var floats []float64
	for _, text := range v.texts {
		x, ok := words[text]
		if !ok {
			return v
		}
		floats = append(floats, x)
	}
	return values{floats: floats}
}
