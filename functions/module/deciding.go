package module

import (
	"maps"
	"slices"
	"strings"
)

// indifferent are the keys of a builtin module's custom_config that say how its result comes about, and change nothing of it.
var indifferent = []string{"checkpoint_every", "checkpoint_seconds", "threads"}

// Deciding is what of a custom_config decides the result of the module at that path: of a builtin one, all but by how many threads it is
// computed and when it is saved; of any other, which may make anything of it, all. custom stays as it is.
func Deciding(path string, custom map[string]any) map[string]any {
	if !strings.HasPrefix(path, BuiltinPrefix) {
		return custom
	}
	deciding := maps.Clone(custom)
	maps.DeleteFunc(deciding, func(key string, _ any) bool { return slices.Contains(indifferent, key) })
	return deciding
}
