package chart

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Short formats a number with four significant digits.
func Short(v float64) string {
	switch a := math.Abs(v); {
	case v == 0:
		return "0"
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, 64)
	case v == math.Trunc(v) && a < 1e6:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case a >= 1e6 || a < 1e-3:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(Round(v, 4), 'f', -1, 64)
}

// Round rounds to significant digits.
func Round(v float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

func escaped(text string) string { return template.HTMLEscapeString(text) }

// ValueText formats the value of a parameter.
func ValueText(value any) string {
	switch v := value.(type) {
	case float64:
		return Short(v)
	case nil:
		return ""
	}
	return fmt.Sprint(value)
}

// ShortDigest returns a recognizable prefix of a digest. A name with a version, such as
// builtin:dnn@7, is not a digest and stays whole.
func ShortDigest(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	if strings.ContainsAny(digest, ":@") {
		return digest
	}
	return digest[:min(len(digest), 12)]
}

// Words returns the words of an identifier.
func Words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// cut shortens a text to some letters.
func cut(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
