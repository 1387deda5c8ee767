package warmstart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// Rules determine what a new model takes from an old one if names and order don't. They are a
// module's custom_config warm_start.
type Rules struct {
	// Map maps the name of a new model's param to the name or key of the old one's weight. The
	// names must exist and their shapes fit.
	Map map[string]string `json:"map"`

	// Only and Except are regular expressions (RE2) on the names of the new model's params. Params
	// that Only, if given, doesn't match anywhere keep their initial values, and so do those that
	// Except matches.
	Only   string `json:"only"`
	Except string `json:"except"`
}

// UnmarshalJSON returns an error for unknown fields.
func (r *Rules) UnmarshalJSON(text []byte) error {
	type plain Rules // without this method
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(r))
}

// Check returns an error if an expression is wrong.
func (r Rules) Check() error {
	_, err := r.compile()
	return err
}

// chosen are Rules ready for use.
type chosen struct {
	only, except *regexp.Regexp
}

func (r Rules) compile() (chosen, error) {
	var c chosen
	var err error
	if r.Only != "" {
		if c.only, err = regexp.Compile(r.Only); err != nil {
			return c, fmt.Errorf("only: %w", err)
		}
	}
	if r.Except != "" {
		if c.except, err = regexp.Compile(r.Except); err != nil {
			return c, fmt.Errorf("except: %w", err)
		}
	}
	return c, nil
}

// leftOut returns why the rules leave a param as it is; "" if they don't.
func (c chosen) leftOut(name string) string {
	switch {
	case c.only != nil && !c.only.MatchString(name):
		return "only leaves it out"
	case c.except != nil && c.except.MatchString(name):
		return "except leaves it out"
	}
	return ""
}
