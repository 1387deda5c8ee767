package ops

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// pattern is a regular expression as RE2 has it, of whose syntax Go's is a copy. They differ about bytes that are no UTF-8:
// to Go such a byte is a character, in RE2 nothing matches it.
type pattern struct {
	plain *regexp.Regexp // for texts that are UTF-8
	torn  *regexp.Regexp // never matches stray, which stands for bytes that are no UTF-8
}

// stray is a code point that isn't and never will be a character.
const stray = '\U0010FFFF'

func newPattern(text string) (*pattern, error) {
	plain, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	forbid(tree)
	torn, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, err
	}
	return &pattern{plain, torn}, nil
}

// forbid takes stray out of what an expression matches. It is the last code point, so it can only be the end of a range.
func forbid(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op, re.Rune = syntax.OpCharClass, []rune{0, stray - 1}
	case syntax.OpAnyCharNotNL:
		re.Op, re.Rune = syntax.OpCharClass, []rune{0, '\n' - 1, '\n' + 1, stray - 1}
	case syntax.OpCharClass:
		if last := len(re.Rune) - 1; last > 0 && re.Rune[last] == stray {
			re.Rune[last]--
			if re.Rune[last-1] > re.Rune[last] {
				re.Rune = re.Rune[:last-1]
			}
		}
	}
	for _, sub := range re.Sub {
		forbid(sub)
	}
}

// find gives the places of all matches and their groups in s, or of the first.
func (p *pattern) find(s string, most int) [][]int {
	if utf8.ValidString(s) {
		return p.plain.FindAllStringSubmatchIndex(s, most)
	}
	mended, from := mend(s)
	matches := p.torn.FindAllStringSubmatchIndex(mended, most)
	for _, m := range matches {
		for i, at := range m {
			if at >= 0 {
				m[i] = from[at]
			}
		}
	}
	return matches
}

// mend puts stray in the place of bytes that are no UTF-8, and says where in s each byte of the outcome is from.
func mend(s string) (mended string, from []int) {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			r = stray
		}
		b.WriteRune(r)
		for range utf8.RuneLen(r) {
			from = append(from, i)
		}
		i += size
	}
	return b.String(), append(from, len(s))
}

// rewrite is what a match becomes: text, and the groups named by \0 to \9.
type rewrite []any

func newRewrite(text string, groups int) (rewrite, error) {
	var r rewrite
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			r = append(r, text[i:i+1])
			continue
		}
		i++
		switch {
		case i < len(text) && text[i] == '\\':
			r = append(r, `\`)
		case i < len(text) && text[i] >= '0' && text[i] <= '9':
			group := int(text[i] - '0')
			if group > groups {
				return nil, fmt.Errorf("rewrite %q: the pattern has %d groups", text, groups)
			}
			r = append(r, group)
		default:
			return nil, fmt.Errorf(`rewrite %q: \ stands before no digit`, text)
		}
	}
	return r, nil
}

func (r rewrite) appendTo(b []byte, s string, match []int) []byte {
	for _, part := range r {
		switch v := part.(type) {
		case string:
			b = append(b, v...)
		case int:
			if match[2*v] >= 0 {
				b = append(b, s[match[2*v]:match[2*v+1]]...)
			}
		}
	}
	return b
}

func (p *pattern) replace(s string, by rewrite, most int) string {
	matches := p.find(s, most)
	if len(matches) == 0 {
		return s
	}
	var b []byte
	done := 0
	for _, m := range matches {
		b = by.appendTo(append(b, s[done:m[0]]...), s, m)
		done = m[1]
	}
	return string(append(b, s[done:]...))
}

// replacer makes a kernel of the pattern and the rewrite.
func replacer(n *Node, text, by string) (func(string) string, error) {
	p, err := newPattern(text)
	if err != nil {
		return nil, err
	}
	r, err := newRewrite(by, p.plain.NumSubexp())
	if err != nil {
		return nil, err
	}
	most := 1
	if n.Boolean("replace_global", true) {
		most = -1
	}
	return func(s string) string { return p.replace(s, r, most) }, nil
}

func buildStaticRegexReplace(n *Node) (Kernel, error) {
	f, err := replacer(n, n.Text("pattern", ""), n.Text("rewrite", ""))
	if err != nil {
		return nil, err
	}
	return mapStrings(n, f)
}

// buildRegexReplace is the same with pattern and rewrite as inputs, which have to be known beforehand.
func buildRegexReplace(n *Node) (Kernel, error) {
	if err := n.want(String, String, String); err != nil {
		return nil, err
	}
	text, err := n.fixedText(1)
	if err != nil {
		return nil, err
	}
	by, err := n.fixedText(2)
	if err != nil {
		return nil, err
	}
	f, err := replacer(n, text, by)
	if err != nil {
		return nil, err
	}
	n.Out = []DType{String}
	return each(mapping(f)), nil
}

func (n *Node) fixedText(i int) (string, error) {
	a, ok := n.Fixed[i].(*Array[string])
	if !ok || len(a.Data) != 1 {
		return "", fmt.Errorf("input %d is no text that is known beforehand", i)
	}
	return a.Data[0], nil
}

func buildStaticFullMatch(n *Node) (Kernel, error) {
	return fullMatch(n, n.Text("pattern", ""), n.want(String))
}

func buildFullMatch(n *Node) (Kernel, error) {
	if err := n.want(String, String); err != nil {
		return nil, err
	}
	text, err := n.fixedText(1)
	return fullMatch(n, text, err)
}

func fullMatch(n *Node, text string, err error) (Kernel, error) {
	if err != nil {
		return nil, err
	}
	if _, err := regexp.Compile(text); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	p, err := newPattern(`\A(?:` + text + `)\z`)
	if err != nil {
		return nil, err
	}
	n.Out = []DType{Bool}
	return each(mapping(func(s string) bool { return len(p.find(s, 1)) > 0 })), nil
}
