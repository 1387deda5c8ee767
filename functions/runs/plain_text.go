package runs

import (
	"regexp"
	"strings"
)

// Control sequences of terminals, and other bytes that are neither text nor layout.
var (
	sequences = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
	overtyped = regexp.MustCompile(`[^\n]*(?:\r+|\x08+)([^\r\x08\n])`) // such as progress bars
	controls  = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)
)

// PlainText is a log without control sequences: of an overwritten line it has the last text.
func PlainText(log string) string {
	log = overtyped.ReplaceAllString(sequences.ReplaceAllString(log, ""), "$1")
	return controls.ReplaceAllString(log, "")
}

// FirstLine is the first line of a text, for a list.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ReplaceAll(PlainText(line), "\t", " ")
}
