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
	return map[string]string{"dnn": module.BuiltinPrefix + "dnn@3", "linear": module.BuiltinPrefix + "linear@3", wideDeep: module.BuiltinPrefix + wideDeep + "@1"}
}

// Names are the builtin modules, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Digests())) }

// Module serves every builtin module: which one, an assignment says.
func Module() module.Module {
	return module.Module{Train: func(ctx context.Context, a *module.Args) error {
		return Run(ctx, strings.TrimPrefix(a.Module, module.BuiltinPrefix), a.Assignment, a.Send)
	}}
}
