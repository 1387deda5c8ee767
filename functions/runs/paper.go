package runs

import (
	"regexp"
	"strings"
)

// What a log may tell a terminal: colours and the like, and what else is neither text nor layout.
var (
	sequences = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
	overtyped = regexp.MustCompile(`[^\n]*(?:\r+|\x08+)([^\r\x08\n])`) // as bars of progress are
	controls  = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)
)

// OnPaper is a log, or what it says, as it may be shown anywhere: of a line that was written over and over what came last.
func OnPaper(log string) string {
	log = overtyped.ReplaceAllString(sequences.ReplaceAllString(log, ""), "$1")
	return controls.ReplaceAllString(log, "")
}

// FirstLine is what a list has room for.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ReplaceAll(OnPaper(line), "\t", " ")
}
