package main

import (
	"context"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
)

// noopName is that of a module that does nothing, besides saying that it runs.
const noopName = "noop"

// running is the phase that a probe reports first of all.
const running = "running"

// probe is a module that says at once that it runs, and then trains as builtin:dnn does. This
// program serves it: it links all that stoker links, so it starts as stoker's own child does.
func probe() module.Module {
	return module.Module{Check: modelcheck.Serve, Tune: sleepers, Train: func(ctx context.Context, a *module.Args) error {
		if a.Trial != nil {
			return sleep(ctx, a)
		}
		a.Send(module.Message{Type: module.MessageProgress, Phase: running})
		if a.Module.Path == module.BuiltinPrefix+noopName {
			return nil
		}
		return builtin.Run(ctx, "dnn", a.Assignment, a.Send)
	}}
}
