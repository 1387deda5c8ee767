package savedmodel

import "slices"

// pythonNames are names that a Python caller can't use for an argument: the keywords of Python 3
// (keyword.kwlist), and self, which TensorFlow's own function has.
var pythonNames = []string{
	"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
	"while", "with", "yield",
	"self",
}

// Keyword returns the name by which predict_tensors is called with a feature: as in TensorFlow,
// each character that isn't an ASCII letter or digit becomes _, a name that begins with a digit
// gets the prefix arg_, and a name that Python has reserved the suffix _. If two features would
// have the same name, the second one gets the suffix _1.
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
