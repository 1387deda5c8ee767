package filter

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// lexer reads the words of a filter one after the other.
type lexer struct {
	text string
	at   int
}

// reader reads the terms of a filter one after the other.
type reader[T any] struct {
	lexer
	language Language[T]
}

const operatorCharacters = "=!<>~"

// more skips spaces, and reports whether there is more.
func (l *lexer) more() bool {
	l.at = len(l.text) - len(strings.TrimLeftFunc(l.text[l.at:], unicode.IsSpace))
	return l.at < len(l.text)
}

// term reads the next term.
func (l *reader[T]) term() (t term[T], err error) {
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
		return t, l.conjunction(t.from, t.to, word)
	case operator == "":
		l.at = t.to
		word = strings.ToLower(word)
		t.holds = func(item *T, _ time.Time) bool { return l.language.Has(item, word) }
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
	t.Name, t.Operator = word, operator
	return l.condition(t)
}

// condition reads the operator and the values of a term whose name was read.
func (l *reader[T]) condition(t term[T]) (term[T], error) {
	nameEnd, operatorAt := t.to, l.at
	l.at += len(t.Operator)
	l.more()
	from := l.at
	if err := l.readValues(&t.Term); err != nil {
		return t, err
	}
	t.to = l.at
	if len(t.Values) == 0 {
		return t, l.fault(t.from, t.to, "expected a value after "+t.Operator, "")
	}
	f, message, hint := l.language.Field(t.Term)
	if message != "" {
		return t, l.fault(t.from, nameEnd, message, hint)
	}
	if allowed := operatorsOf(f); !slices.Contains(allowed, t.Operator) {
		message = fmt.Sprintf("%s has no operator %s", f.Name, t.Operator)
		return t, l.fault(operatorAt, operatorAt+len(t.Operator), message, "use "+strings.Join(allowed, " "))
	}
	if t.holds, message, hint = condition(t.Term, f); message != "" {
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
func (l *lexer) readValues(t *Term) error {
	from, ends := l.at, ""
	several := t.Operator == "=" || t.Operator == "!="
	if several {
		ends = ","
	}
	for {
		value, quoted, err := l.word(ends)
		if err != nil {
			return err
		}
		if value != "" || quoted {
			t.Values = append(t.Values, value)
		}
		if !several || l.at == len(l.text) || l.text[l.at] != ',' {
			break
		}
		l.at++
	}
	if whole := l.text[from:l.at]; len(t.Values) > 1 && !strings.Contains(whole, `"`) {
		t.Whole = whole
	}
	return nil
}

// conjunction is the error for a word that other languages join conditions by.
func (l *lexer) conjunction(from, to int, word string) error {
	hint := "all terms must hold already: remove it"
	switch strings.ToLower(word) {
	case "or":
		hint = "write alternatives of one name with a comma: state=failed,expired"
	case "not":
		hint = "write != instead of ="
	}
	return l.fault(from, to, word+" does not join terms", hint+`; "`+word+`" in quotes is a text`)
}

func (l *lexer) fault(from, to int, message, hint string) *Error {
	return &Error{Text: l.text, From: from, To: to, Message: message, Hint: hint}
}

// operatorsOf returns the operators that a field has.
func operatorsOf[T any](f Field[T]) []string {
	switch {
	case f.Bound != "":
		return []string{"="}
	case f.Kind == Text:
		return []string{"=", "!=", "~"}
	case f.Kind == Truth:
		return []string{"=", "!="}
	case f.Kind == Moment:
		return []string{">", ">=", "<", "<="}
	case f.Kind == Mixed:
		return operators
	}
	return slices.DeleteFunc(slices.Clone(operators), func(op string) bool { return op == "~" })
}
