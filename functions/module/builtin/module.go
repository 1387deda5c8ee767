package builtin

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// Digests are the builtin modules by name, with what stands for the digest of their code. The number goes up whenever the
// same assignment gives another model.
func Digests() map[string]string {
	digests := map[string]string{}
	for name, number := range map[string]string{"dnn": "4", "linear": "4", wideDeep: "2"} {
		digests[name] = module.BuiltinPrefix + name + "@" + number
	}
	return digests
}

// Names are the builtin modules, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Digests())) }

// Module serves every builtin module: which one, an assignment says.
func Module() module.Module {
	return module.Module{Train: func(ctx context.Context, a *module.Args) error {
		return Run(ctx, strings.TrimPrefix(a.Module.Path, module.BuiltinPrefix), a.Assignment, a.Send)
	}}
}
