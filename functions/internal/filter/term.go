package list

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
)

// lexer reads the terms of a filter one after the other.
type lexer struct {
	text string
	at   int
}

const operatorCharacters = "=!<>~"

// more skips spaces, and reports whether there is more.
func (l *lexer) more() bool {
	l.at = len(l.text) - len(strings.TrimLeftFunc(l.text[l.at:], unicode.IsSpace))
	return l.at < len(l.text)
}

// term reads the next term.
func (l *lexer) term(names Names) (t term, err error) {
	t.from = l.at
	word, quoted, err := l.word(operatorCharacters)
	if err != nil {
		return t, err
	}
	t.to = l.at
	l.more()
	operator, from := l.operator(), l.at
	switch {
	case operator == "" && !quoted && slices.Contains([]string{"and", "or", "not"}, strings.ToLower(word)):
		return t, l.conjunction(t, word)
	case operator == "":
		l.at = t.to
		t.holds = textTerm(word)
		return t, nil
	case word == "" && !quoted:
		return t, l.fault(from, from+len(operator), "expected a name before "+operator, "")
	case !slices.Contains(operators, operator):
		hint := "the operators are " + strings.Join(operators, " ")
		if meant := mistaken[operator]; meant != "" {
			hint = "did you mean " + meant + "?"
		}
		return t, l.fault(from, from+len(operator), "unknown operator "+operator, hint)
	}
	t.name, t.operator = word, operator
	return l.condition(t, names)
}

// condition reads the operator and the values of a term whose name was read.
func (l *lexer) condition(t term, names Names) (term, error) {
	nameEnd, operatorAt := t.to, l.at
	l.at += len(t.operator)
	l.more()
	from := l.at
	if err := l.readValues(&t); err != nil {
		return t, err
	}
	t.to = l.at
	if len(t.values) == 0 {
		return t, l.fault(t.from, t.to, "expected a value after "+t.operator, "")
	}
	f, message, hint := t.field(names)
	if message != "" {
		return t, l.fault(t.from, nameEnd, message, hint)
	}
	if allowed := operatorsOf(f); !slices.Contains(allowed, t.operator) {
		message = fmt.Sprintf("%s has no operator %s", f.name, t.operator)
		return t, l.fault(operatorAt, operatorAt+len(t.operator), message, "use "+strings.Join(allowed, " "))
	}
	if t.holds, message, hint = t.condition(f); message != "" {
		return t, l.fault(from, t.to, message, hint)
	}
	return t, nil
}

// operator returns the operator at the current position, "" if there is none; it may be one that
// the language doesn't have.
func (l *lexer) operator() string {
	rest := l.text[l.at:]
	return rest[:len(rest)-len(strings.TrimLeft(rest, operatorCharacters))]
}

// word reads a word, which ends at a space or one of the characters in ends.
func (l *lexer) word(ends string) (word string, quoted bool, err error) {
	if l.at < len(l.text) && l.text[l.at] == '"' {
		word, err = l.quoted()
		return word, true, err
	}
	from := l.at
	for l.at < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		if unicode.IsSpace(r) || strings.ContainsRune(ends, r) {
			break
		}
		l.at += size
	}
	return l.text[from:l.at], false, nil
}

func (l *lexer) quoted() (string, error) {
	var word strings.Builder
	from := l.at
	for l.at++; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; {
		case c == '"':
			l.at++
			return word.String(), nil
		case c == '\\' && l.at+1 < len(l.text):
			l.at++
			word.WriteByte(l.text[l.at])
		default:
			word.WriteByte(c)
		}
	}
	return "", l.fault(from, len(l.text), `the closing " is missing`, "")
}

// readValues reads the values of a term: one, or with = and != several with commas. A value with
// commas that is not quoted counts as a whole too, because parameters may be lists.
func (l *lexer) readValues(t *term) error {
	from, ends := l.at, ""
	several := t.operator == "=" || t.operator == "!="
	if several {
		ends = ","
	}
	for {
		value, quoted, err := l.word(ends)
		if err != nil {
			return err
		}
		if value != "" || quoted {
			t.values = append(t.values, value)
		}
		if !several || l.at == len(l.text) || l.text[l.at] != ',' {
			break
		}
		l.at++
	}
	if whole := l.text[from:l.at]; len(t.values) > 1 && !strings.Contains(whole, `"`) {
		t.values = append(t.values, whole)
	}
	return nil
}

// conjunction is the error for a word that other languages join conditions by.
func (l *lexer) conjunction(t term, word string) error {
	hint := "all terms must hold already: remove it"
	switch strings.ToLower(word) {
	case "or":
		hint = "write alternatives of one name with a comma: state=failed,expired"
	case "not":
		hint = "write != instead of ="
	}
	return l.fault(t.from, t.to, word+" does not join terms", hint+`; "`+word+`" in quotes is a text`)
}

func (l *lexer) fault(from, to int, message, hint string) *Error {
	return &Error{Text: l.text, From: from, To: to, Message: message, Hint: hint}
}

// field returns the field of a term, or why there is none.
func (t term) field(names Names) (f field, message, hint string) {
	if t.name == since || t.name == until {
		return field{name: t.name, kind: moment}, "", ""
	}
	if f, ok := fieldNamed(t.name); ok {
		return f, "", ""
	}
	_, isParameter := names.parameters[t.name]
	isMetric := names.metrics[t.name]
	isText := t.operator == "~" || slices.ContainsFunc(t.values, func(v string) bool { return !isNumber(v) })
	switch {
	case isMetric && isParameter && names.parameters[t.name] && !isText:
		return f, t.name + " is a metric and a parameter", fmt.Sprintf("write %s%s or %s%[2]s", metricPrefix, t.name, parameterPrefix)
	case isMetric && (!isParameter || !isText):
		return metricField(t.name), "", ""
	case isParameter:
		return parameterField(t.name), "", ""
	}
	return f, "no field, metric or parameter is named " + t.name, hintFor(t.name, names)
}

// hintFor suggests a name that was probably meant.
func hintFor(name string, names Names) string {
	known := names.all()
	if near := spelling.Suggestion(name, known); near != "" {
		return strings.TrimPrefix(near, "; ")
	}
	if i := slices.IndexFunc(known, func(one string) bool { return len(name) > 2 && contains(one, strings.ToLower(name)) }); i >= 0 {
		return "did you mean " + known[i] + "?"
	}
	return "for one that no run has yet, write " + metricPrefix + name + " or " + parameterPrefix + name
}

// condition returns the condition on a field, or why there is none.
func (t term) condition(f field) (holds func(*runs.Summary, time.Time) bool, message, hint string) {
	switch f.kind {
	case text:
		return t.textCondition(f)
	case parameter:
		return t.parameterCondition(f)
	case moment:
		return t.momentCondition(f)
	case truth:
		return t.anyOf(f, func(v string) (value, string, string) {
			switch strings.ToLower(v) {
			case "yes", "true":
				return value{text: "yes", number: 1}, "", ""
			case "no", "false":
				return value{text: "no"}, "", ""
			}
			return value{}, "expected yes or no, got " + v, ""
		})
	case duration:
		return t.anyOf(f, func(v string) (value, string, string) {
			d, ok := durationOf(v)
			if !ok {
				return value{}, "expected a duration, got " + v, "write 90s, 10m, 2h, 3d or 1w"
			}
			return value{number: d.Seconds()}, "", ""
		})
	}
	return t.anyOf(f, func(v string) (value, string, string) {
		n, ok := numberOf(v)
		if !ok {
			return value{}, fmt.Sprintf("expected a number for %s, got %s", f.name, v), ""
		}
		return value{number: n}, "", ""
	})
}

// operatorsOf returns the operators that a field has.
func operatorsOf(f field) []string {
	switch {
	case f.name == since || f.name == until:
		return []string{"="}
	case f.kind == text:
		return []string{"=", "!=", "~"}
	case f.kind == truth:
		return []string{"=", "!="}
	case f.kind == moment:
		return []string{">", ">=", "<", "<="}
	case f.kind == parameter:
		return operators
	}
	return slices.DeleteFunc(slices.Clone(operators), func(op string) bool { return op == "~" })
}
