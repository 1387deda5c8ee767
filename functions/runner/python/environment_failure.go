package python

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// installFailure says which requirement it was that pip could not install, and why, in a line or
// some.
func installFailure(over Environment, requirements []module.Requirement, said *tail, err error) error {
	lines := said.lines(8)
	var culprits, all []string
	for _, r := range requirements {
		all = append(all, r.Text)
		if mentions(lines, r.Name) {
			culprits = append(culprits, r.Text+over.has(r.Name))
		}
	}
	if len(culprits) == 0 {
		culprits = all
	}
	what := "install " + strings.Join(culprits, ", ")
	if away := slices.ContainsFunc(lines, registryIsAway); away {
		return fmt.Errorf("%s: this worker reaches no package registry: have it installed in the environment that module.python names, "+
			"or name a wheel: %w: %s", what, err, strings.Join(lines[max(0, len(lines)-2):], "; "))
	}
	errorsOf := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "ERROR:") })
	if len(errorsOf) == 0 {
		errorsOf = lines
	}
	return fmt.Errorf("%s: %w: %s", what, err, strings.Join(errorsOf, "; "))
}

// mentions says whether a package is named in one of the lines.
func mentions(lines []string, name string) bool {
	return name != "" && slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(strings.ToLower(line), strings.ToLower(name))
	})
}

// has recognizes a package that is there already, in a version that stays.
func (e Environment) has(name string) string {
	if version, ok := e.Packages[strings.ReplaceAll(strings.ToLower(name), "_", "-")]; ok {
		return fmt.Sprintf(" (the environment has %s, and keeps it)", version)
	}
	return ""
}

// registryIsAway knows pip's words for it.
func registryIsAway(line string) bool {
	return slices.ContainsFunc([]string{
		"NewConnectionError", "ConnectTimeoutError", "NameResolutionError", "ProxyError", "Failed to establish a new connection",
		"Name or service not known", "Temporary failure in name resolution", "Network is unreachable", "Max retries exceeded",
	}, func(words string) bool { return strings.Contains(line, words) })
}
