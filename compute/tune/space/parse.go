package space

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits of JSON: far more than the space of any search needs.
const (
	maxBytes = 8 << 20
	maxDepth = 16
)

// parser reads JSON as Python writes it: members in their order, 1 distinguished from 1.0, and NaN
// and Infinity among the numbers. encoding/json supports none of the three.
type parser struct {
	text []byte
	at   int
}

// parse reads one value and nothing after it.
func parse(text []byte) (any, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%d bytes of JSON: more than %d are not read", len(text), maxBytes)
	}
	p := &parser{text: text}
	value, err := p.value(0)
	if p.space(); err == nil && p.at < len(text) {
		err = errors.New("something after the value")
	}
	if err != nil {
		return nil, fmt.Errorf("JSON at byte %d: %w", p.at, err)
	}
	return value, nil
}

// value reads the next value.
func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	p.space()
	switch {
	case p.at == len(p.text):
		return nil, errors.New("ends in the middle")
	case p.take("{"):
		return p.object(depth)
	case p.take("["):
		return p.list(depth)
	case p.text[p.at] == '"':
		return p.string()
	default:
		return p.word()
	}
}

// object reads members up to the closing brace. If two have one name the later counts, as in
// Python.
func (p *parser) object(depth int) (object, error) {
	o := object{}
	seen := map[string]int{}
	err := p.items("}", func() error {
		name, err := p.string()
		if err != nil {
			return err
		}
		if p.space(); !p.take(":") {
			return fmt.Errorf("expected : after %q", name)
		}
		value, err := p.value(depth + 1)
		if i, again := seen[name]; again {
			o[i].value = value
			return err
		}
		seen[name] = len(o)
		o = append(o, member{name, value})
		return err
	})
	return o, err
}

// list reads values up to the closing bracket.
func (p *parser) list(depth int) ([]any, error) {
	list := []any{}
	err := p.items("]", func() error {
		value, err := p.value(depth + 1)
		list = append(list, value)
		return err
	})
	return list, err
}

// items reads items that are separated by commas, up to the token that ends them.
func (p *parser) items(end string, item func() error) error {
	if p.space(); p.take(end) {
		return nil
	}
	for {
		p.space()
		if err := item(); err != nil {
			return err
		}
		if p.space(); p.take(end) {
			return nil
		}
		if !p.take(",") {
			return fmt.Errorf("expected , or %s", end)
		}
	}
}

// string reads a string, whose escapes encoding/json decodes.
func (p *parser) string() (string, error) {
	if !p.take(`"`) {
		return "", errors.New("expected a text in quotes")
	}
	start := p.at - 1
	for ; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			var s string
			err := json.Unmarshal(p.text[start:p.at], &s)
			return s, err
		}
	}
	p.at = len(p.text)
	return "", errors.New("a text without its closing quote")
}

// words are the literals that stand for a value.
var words = map[string]any{
	"null": nil, "true": true, "false": false,
	"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
}

// word reads a number, or one of words.
func (p *parser) word() (any, error) {
	rest := p.text[p.at:]
	if end := bytes.IndexAny(rest, " \t\r\n,:[]{}\""); end >= 0 {
		rest = rest[:end]
	}
	if value, ok := words[string(rest)]; ok {
		p.at += len(rest)
		return value, nil
	}
	if !json.Valid(rest) {
		return nil, fmt.Errorf("expected a value, got %.40q", rest)
	}
	value, err := number(string(rest))
	if err == nil {
		p.at += len(rest)
	}
	return value, err
}

// number reads an int64 or a float64. A float that is too large is infinite, as in Python.
func number(digits string) (any, error) {
	if strings.ContainsAny(digits, ".eE") {
		f, err := strconv.ParseFloat(digits, 64)
		if errors.Is(err, strconv.ErrRange) {
			err = nil
		}
		return f, err
	}
	i, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%.40s: more than 64 bits hold", digits)
	}
	return i, nil
}

// take skips a token, if it is next.
func (p *parser) take(token string) bool {
	if !bytes.HasPrefix(p.text[p.at:], []byte(token)) {
		return false
	}
	p.at += len(token)
	return true
}

// space skips white space between tokens.
func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}
