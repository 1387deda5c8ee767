package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// strict is what a text decodes to.
type strict struct {
	Whole   int
	Float   float64
	Text    string
	List    []int
	Any     map[string]any
	Timeout pipeline.Duration
}

// The reasons for decode, one by one. A reason that fails here is gone, because the library has
// improved: remove it here and from the comment of decode. Without reasons, remove decode.
func TestStrictDecodingIsNotEnough(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, text string
		holds        func(strict, error) bool
	}{
		{"a quoted number is a number", "whole: '1'\n", func(s strict, err error) bool { return s.Whole == 1 && err == nil }},
		{"a fraction is cut", "whole: 1.5\n", func(s strict, err error) bool { return s.Whole == 1 && err == nil }},
		{"a number is text", "text: 7\n", func(s strict, err error) bool { return s.Text == "7" && err == nil }},
		{"a boolean is text", "text: true\n", func(s strict, err error) bool { return s.Text == "true" && err == nil }},
		{"an empty element is a zero", "list: [1, null]\n", func(s strict, err error) bool { return len(s.List) == 2 && err == nil }},
		{"merge keys are followed", "any: {<<: {a: b}}\n", func(s strict, err error) bool { return s.Any["a"] == "b" && err == nil }},
		{"an exponent without a point is text", "any: {a: 1e-3}\n", func(s strict, err error) bool { return s.Any["a"] == "1e-3" && err == nil }},
		{"an error of UnmarshalText has no position", "timeout: soon\n", func(_ strict, err error) bool {
			_, placed := errors.AsType[yaml.Error](err)
			return err != nil && !placed
		}},
		{"it ends at the first problem", "whole: a\nfloat: b\n", func(_ strict, err error) bool { return err != nil && !strings.Contains(err.Error(), "2:") }},
	} {
		var s strict
		if err := yaml.UnmarshalWithOptions([]byte(test.text), &s, yaml.Strict()); !test.holds(s, err) {
			t.Errorf("%s: no longer: %s gives %+v, %v", test.reason, test.text, s, err)
		}
	}
}
