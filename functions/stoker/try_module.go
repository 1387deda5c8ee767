package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// addPython adds the flags that a pipeline has as keys of its module.
func (t *tryFlags) addPython(flags *pflag.FlagSet) {
	flags.StringVar(&t.source.RunFn, "run-fn", "", "of a TFX module: dotted name of the function, like my_module.run_fn")
	flags.StringVar(&t.source.Python, "python", "", "of a TFX module: interpreter with TensorFlow, or its environment's folder; "+
		"default: STOKER_PYTHON, else what stoker python setup made")
	flags.StringVar(&t.source.Keras, "keras", "", "of a TFX module: 2, 3, or auto for what it needs")
	flags.IntVar(&t.workers, "workers", 1, "of a TFX module: processes that train one model together, by MultiWorkerMirroredStrategy")
	flags.StringArrayVar(&t.source.Requirements, "requirements", nil, "of a TFX module: a package beside those of its environment, "+
		"like humanize>=4; may be given again")
}

// module is what a pipeline would say of it.
func (t *tryFlags) module(name string) (module.Source, error) {
	source := t.source
	source.Path = name
	if !isPath(name) && !strings.HasPrefix(name, module.BuiltinPrefix) {
		return source, exit.Usage(fmt.Errorf("%s: expected builtin:<name> or a path: what is tried lies on this machine", name))
	}
	var wrong []error
	keras := []string{module.KerasAuto, module.Keras2, module.Keras3}
	if source.Keras != "" && !slices.Contains(keras, source.Keras) {
		wrong = append(wrong, fmt.Errorf("--keras %s: expected one of %s", source.Keras, strings.Join(keras, ", ")))
	}
	for _, text := range source.Requirements {
		if _, err := module.ParseRequirement(text); err != nil {
			wrong = append(wrong, fmt.Errorf("--requirements: %w", err))
		}
	}
	if len(wrong) > 0 {
		return source, exit.Usage(errors.Join(wrong...))
	}
	return relativeTo(".", source)
}

func (t *tryFlags) checkModel() error {
	if models := []string{pipeline.ModelSaved, pipeline.ModelAny}; !slices.Contains(models, t.model) {
		return exit.Usage(fmt.Errorf("--model %s: expected one of %s", t.model, strings.Join(models, ", ")))
	}
	return nil
}
