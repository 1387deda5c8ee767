package savedmodel

import "slices"

// pythonNames are those that a Python caller can't give an argument by: the keywords of Python 3
// (keyword.kwlist), and self, which TensorFlow's own function has.
var pythonNames = []string{
	"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
	"while", "with", "yield",
	"self",
}

// Keyword is the name by which predict_tensors is called with a feature: all but ASCII letters and
// digits is _, arg_ stands before a digit, as TensorFlow itself does it, and _ behind a name that
// Python has taken. Of features that would have the same, the second is called with _1 behind it.
func Keyword(feature string) string {
	name := mapName(feature, func(r rune) bool { return r == '_' })
	switch {
	case name == "" || name[0] >= '0' && name[0] <= '9':
		return "arg_" + name
	case slices.Contains(pythonNames, name):
		return name + "_"
	}
	return name
}
