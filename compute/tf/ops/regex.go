package ops

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// pattern is a regular expression of RE2, whose syntax Go has copied. They differ in bytes that are
// not UTF-8: such a byte is a character for Go, but RE2 never matches it.
type pattern struct {
	plain *regexp.Regexp // for texts that are UTF-8
	torn  *regexp.Regexp // never matches stray, which replaces bytes that are not UTF-8
	size  int            // of its program
}

// maxProgram limits the instructions of a pattern's program. RE2 stops at about 350,000 (its
// max_mem, 8 MB).
const maxProgram = 1 << 16

// parseBytes is the memory for each byte of a pattern while it is parsed: a class of characters may
// name hundreds of ranges.
const parseBytes = 8 << 10

// instructionBytes is the memory of an instruction in both programs of a pattern.
const instructionBytes = 128

// measure estimates the number of instructions of an expression's program, and counts the
// characters of its classes.
func measure(re *syntax.Regexp) (instructions, runes int) {
	instructions, runes = 1+len(re.Rune), len(re.Rune)
	if re.Op == syntax.OpCharClass {
		instructions = 1
	}
	for _, sub := range re.Sub {
		i, r := measure(sub)
		instructions, runes = min(instructions+i, maxProgram+1), runes+r
	}
	if re.Op == syntax.OpRepeat {
		instructions = min(instructions*max(re.Min, re.Max, 1), maxProgram+1)
	}
	return instructions, runes
}

// stray is a code point that isn't and never will be a character.
const stray = '\U0010FFFF'

func (n *Node) newPattern(text string) (*pattern, error) {
	parsing := parseBytes * int64(len(text))
	if err := n.Budget.Charge(parsing); err != nil {
		return nil, fmt.Errorf("pattern of %d bytes: %w", len(text), err)
	}
	defer n.Budget.Release(parsing)
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("error parsing regexp: %w", err)
	}
	size, runes := measure(tree)
	if size > maxProgram {
		return nil, fmt.Errorf("a pattern of more than %d instructions", maxProgram)
	}
	if err := n.Budget.Charge(instructionBytes*int64(size) + 8*int64(runes)); err != nil {
		return nil, err
	}
	plain, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	forbid(tree)
	torn, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, err
	}
	return &pattern{plain, torn, size}, nil
}

// forbid excludes stray from the matches of an expression. It is the last code point, so it can
// only be the end of a range.
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

// matchBytes returns the memory of a match with its groups, in a list that grows.
func (p *pattern) matchBytes() int64 { return 48 + 32*int64(p.plain.NumSubexp()+1) }

// longMatch is the number of bytes times instructions from which on a search runs concurrently with
// the kernel, which can then return before it.
const longMatch = 1 << 20

// find returns the positions of all matches and their groups in s, or of the first. They are
// charged; done releases them.
func (p *pattern) find(c *Call, s string, most int) (matches [][]int, done func()) {
	if fit := c.Budget.left()/p.matchBytes() + 1; most < 0 && fit < int64(len(s))+2 {
		most = int(fit) // one more than fits into the memory
	}
	c.tick(len(s))
	if len(s)*p.size < longMatch {
		matches = p.findNow(c, s, most)
	} else {
		matches = p.findConcurrently(c, s, most)
	}
	bytes := int64(len(matches)) * p.matchBytes()
	c.use(bytes)
	return matches, func() { c.drop(bytes) }
}

// findConcurrently searches in a separate goroutine, because a search can't be interrupted, and its
// time may grow with the square of the text. When the context ends, the search continues until it
// is done, or the process ends.
func (p *pattern) findConcurrently(c *Call, s string, most int) [][]int {
	if c.Budget == nil {
		return p.findNow(c, s, most)
	}
	found := make(chan [][]int, 1)
	apart := c.inner(nil, nil)
	apart.Budget = nil
	go func() { found <- p.findNow(apart, s, most) }()
	select {
	case matches := <-found:
		return matches
	case <-c.Budget.done:
		must(c.Budget.Poll())
		return nil
	}
}

func (p *pattern) findNow(c *Call, s string, most int) [][]int {
	if utf8.ValidString(s) {
		return p.plain.FindAllStringSubmatchIndex(s, most)
	}
	c.use(12 * int64(len(s)))
	defer c.drop(12 * int64(len(s)))
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

// mend replaces bytes that are not UTF-8 by stray, and returns for each byte of the result its
// position in s.
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

// rewrite is the replacement of a match: text, and the groups \0 to \9.
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

func (r rewrite) size(match []int) int {
	size := 0
	for _, part := range r {
		switch v := part.(type) {
		case string:
			size += len(v)
		case int:
			if match[2*v] >= 0 {
				size += match[2*v+1] - match[2*v]
			}
		}
	}
	return size
}

func (p *pattern) replace(c *Call, s string, by rewrite, most int) string {
	matches, end := p.find(c, s, most)
	defer end()
	if len(matches) == 0 {
		return s
	}
	size := len(s)
	for _, m := range matches {
		added := by.size(m)
		c.chargeText(added)
		size += added - (m[1] - m[0])
	}
	c.chargeText(len(s))
	c.tick(size)
	b := make([]byte, 0, size)
	done := 0
	for _, m := range matches {
		b = by.appendTo(append(b, s[done:m[0]]...), s, m)
		done = m[1]
	}
	b = append(b, s[done:]...)
	return unsafe.String(unsafe.SliceData(b), len(b)) // nothing else refers to these bytes
}

// replacer makes a kernel of the pattern and the rewrite.
func replacer(n *Node, text, by string) (func(*Call, string) string, error) {
	p, err := n.newPattern(text)
	if err != nil {
		return nil, err
	}
	if err := n.Budget.Charge(64 * int64(len(by))); err != nil {
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
	return func(c *Call, s string) string { return p.replace(c, s, r, most) }, nil
}

func buildStaticRegexReplace(n *Node) (Kernel, error) {
	f, err := replacer(n, n.Text("pattern", ""), n.Text("rewrite", ""))
	if err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{tensor.String}
	return eachCharged(f), n.want(tensor.String)
}

// buildRegexReplace builds the same with pattern and rewrite as inputs, which must be known at
// compile time.
func buildRegexReplace(n *Node) (Kernel, error) {
	if err := n.want(tensor.String, tensor.String, tensor.String); err != nil {
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
	n.Out = []tensor.DType{tensor.String}
	return eachCharged(f), nil
}

func (n *Node) fixedText(i int) (string, error) {
	a, ok := n.Fixed[i].(*tensor.Array[string])
	if !ok || len(a.Data) != 1 {
		return "", fmt.Errorf("input %d is no text that is known beforehand", i)
	}
	return a.Data[0], nil
}

func buildStaticFullMatch(n *Node) (Kernel, error) {
	return fullMatch(n, n.Text("pattern", ""), n.want(tensor.String))
}

func buildFullMatch(n *Node) (Kernel, error) {
	if err := n.want(tensor.String, tensor.String); err != nil {
		return nil, err
	}
	text, err := n.fixedText(1)
	return fullMatch(n, text, err)
}

func fullMatch(n *Node, text string, err error) (Kernel, error) {
	if err != nil {
		return nil, err
	}
	p, err := n.newPattern(text)
	if errors.Is(err, ErrLimit) {
		return nil, err
	}
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	p, err = n.newPattern(`\A(?:` + text + `)\z`)
	if err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{tensor.Bool}
	return func(c *Call) error {
		in := arg[string](c, 0)
		out := newOutput[bool](c, 0, in.Dims...).Data
		for i, s := range in.Data {
			matches, end := p.find(c, s, 1)
			out[i] = len(matches) > 0
			end()
		}
		return nil
	}, nil
}
