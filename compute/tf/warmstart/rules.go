package warmstart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// Rules say what a new model takes from an old one, where names and order don't say it. They are a
// module's custom_config warm_start.
type Rules struct {
	// Map goes from the name of a new model's param to that of the old one's weight, or its key.
	// What it names must be there and fit.
	Map map[string]string `json:"map"`

	// Only and Except are regular expressions (RE2) on the names of the new model's params. What
	// Only, if given, doesn't match somewhere starts from nothing, and so does what Except matches.
	Only   string `json:"only"`
	Except string `json:"except"`
}

// UnmarshalJSON refuses words that mean nothing.
func (r *Rules) UnmarshalJSON(text []byte) error {
	type plain Rules // without this method
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(r))
}

// Check says what is wrong with the expressions.
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

// leftOut says why the rules leave a param as it is; "" if they don't.
func (c chosen) leftOut(name string) string {
	switch {
	case c.only != nil && !c.only.MatchString(name):
		return "only leaves it out"
	case c.except != nil && c.except.MatchString(name):
		return "except leaves it out"
	}
	return ""
}
