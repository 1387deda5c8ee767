package builtin

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
)

// Digests are the builtin modules by name, with what stands for the digest of their code. The number goes up whenever the
// same assignment gives another model.
func Digests() map[string]string {
	digests := map[string]string{}
	for name, number := range map[string]string{"dnn": "7", "linear": "7", wideDeep: "5"} {
		digests[name] = module.BuiltinPrefix + name + "@" + number
	}
	return digests
}

// Names are the builtin modules, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Digests())) }

// Module serves every builtin module: which one, an assignment says.
func Module() module.Module { return ModuleOn(nil) }

// ModuleOn is Module with every training on what machines makes, a device.
func ModuleOn(machines nn.Machines) module.Module {
	kept := &kept{}
	return module.Module{
		Train: func(ctx context.Context, a *module.Args) error {
			return run(ctx, nameOf(a.Assignment), a.Assignment, runner{report: a.Send, kept: kept, machines: machines})
		},
		Tune: func(ctx context.Context, a *module.Args) (tune.Config, error) {
			return study(ctx, nameOf(a.Assignment), a.Assignment)
		},
		Check: modelcheck.Serve,
	}
}

func nameOf(a module.Assignment) string {
	return strings.TrimPrefix(a.Module.Path, module.BuiltinPrefix)
}
