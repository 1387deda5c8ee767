package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// kerasChoice is the Keras that a TFX module runs with. It is set before TensorFlow is imported: after that it stays.
type kerasChoice struct {
	Version string `json:"keras"`  // "2" or "3"
	Reason  string `json:"reason"` // for the log

	open bool // the other one may be tried, once, when the module turns out to need it
}

// other is the choice that is left when one has failed.
func (c kerasChoice) other(reason string) kerasChoice {
	if c.Version == module.Keras2 {
		return kerasChoice{Version: module.Keras3, Reason: reason}
	}
	return kerasChoice{Version: module.Keras2, Reason: reason}
}

// line is the choice as the log has it, with the package's version where it is known.
func (c kerasChoice) line(e python.Environment) string {
	packages := map[string]string{module.Keras2: "tf-keras", module.Keras3: "keras"}
	if len(e.Kerases()) == 1 {
		packages[module.Keras2] = "keras"
	}
	return fmt.Sprintf("Keras %s: %s", cmp.Or(e.Packages[packages[c.Version]], c.Version), c.Reason)
}

// chooseKeras finds the Keras for a job: the one that the pipeline names; else the only one that there is, the one that an
// earlier attempt found to be needed, or what the module's source says.
func (p *pythonRunner) chooseKeras(
	ctx context.Context, r prepared, source module.Source, a module.Assignment,
) (choice kerasChoice, err error) {
	there := r.environment.Kerases()
	switch {
	case source.Keras == module.Keras2 || source.Keras == module.Keras3:
		if !slices.Contains(there, source.Keras) {
			return kerasChoice{}, fail(KindInput, fmt.Errorf("module.keras: %s: %s has only Keras %s; %s", source.Keras,
				r.environment.Interpreter, there[0], kerasWay(source.Keras)))
		}
		return kerasChoice{Version: source.Keras, Reason: namedBy(a)}, nil
	case len(there) == 1:
		return kerasChoice{Version: there[0], Reason: "this Python has no other"}, nil
	}
	choice, ok := markedKeras(a.WorkingDir) // of this job's checkpoint
	if !ok {
		choice, ok = p.keras.recall(r.kerasKey(source, a.Call))
	}
	if !ok {
		choice = p.guessKeras(ctx, r, source, a.Call)
	}
	choice.open = true
	return choice, nil
}

// namedBy says who named a Keras: for several workers it is this host, where the pipeline doesn't.
func namedBy(a module.Assignment) string {
	if a.Workers > 1 {
		return "several workers train with no other"
	}
	return "module.keras says so"
}

// kerasWay says how to get a Keras that isn't there.
func kerasWay(version string) string {
	if version == module.Keras2 {
		return "add tf_keras to module.requirements"
	}
	return "Keras 3 needs TensorFlow 2.16 or later"
}

// guessKeras goes by the module's source. A search by KerasTuner needs Keras 3, even where the module's run_fn needs 2.
func (p *pythonRunner) guessKeras(ctx context.Context, r prepared, source module.Source, call module.Call) kerasChoice {
	signs, err := r.environment.KerasSigns(ctx, r.layout, r.files.Dir, r.files.Called(source.Function(call))...)
	if err != nil {
		p.host.opts.Logger.Warn("a module's source doesn't say which Keras it needs", "module", source, "error", err)
		return kerasChoice{Version: module.Keras3, Reason: "the default"}
	}
	order := []string{module.Keras2}
	if call != module.CallTrain {
		order = []string{module.Keras3, module.Keras2}
	}
	choice := kerasChoice{Version: module.Keras3, Reason: "nothing in the module asks for Keras 2"}
	for _, version := range order {
		if sign, ok := signs[version]; ok {
			choice = kerasChoice{Version: version, Reason: sign}
			break
		}
	}
	p.keep(r.kerasKey(source, call), choice)
	return choice
}
