package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/spelling"
)

// readPipeline parses a file, and checks what a worker would find out with the first job. skipModule leaves the module's own files to
// the workers.
func (a *app) readPipeline(ctx context.Context, name string, skipModule bool) (pipeline.Pipeline, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	file, err := pipeline.ReadFile(name, text)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	spec := file.Pipeline
	source, err := relativeTo(filepath.Dir(name), spec.Module.Source())
	if err != nil {
		return spec, file.At("module", fmt.Errorf("module: %w", err))
	}
	spec.Module = pipeline.Module(source)
	if !skipModule || spec.Module.IsBuiltin() {
		if err := a.checkModule(ctx, source, true, spec.Tunes()); err != nil {
			return spec, file.At("module", fmt.Errorf("module: %w", err))
		}
	}
	if !spec.Module.IsBuiltin() {
		return spec, nil
	}
	return spec, checkBuiltinPipeline(file, spec)
}

// checkBuiltinPipeline refuses what a builtin module could not train or tune with, whatever the data.
func checkBuiltinPipeline(file pipeline.File, spec pipeline.Pipeline) error {
	if err := checkBuiltinJob(file, "trainer", spec.Module.Path, spec.Trainer.CustomConfig, spec.Trainer.TrainArgs.NumSteps); err != nil {
		return err
	}
	if !spec.Tunes() {
		return nil
	}
	search := spec.Search()
	if err := checkBuiltinJob(file, "tuner", spec.Module.Path, search.CustomConfig, search.TrainArgs.NumSteps); err != nil {
		return err
	}
	if search.Study == nil {
		return nil
	}
	for i, objective := range search.Study.Objective {
		if err := checkMetric(file, fmt.Sprintf("tuner.study.objective[%d]", i), spec.Module.Path, search.CustomConfig, objective.Name); err != nil {
			return err
		}
	}
	for i, constraint := range search.Study.Constraints {
		if err := checkMetric(file, fmt.Sprintf("tuner.study.constraints[%d]", i), spec.Module.Path, search.CustomConfig, constraint.Name); err != nil {
			return err
		}
	}
	return nil
}

// configKey finds the key in what builtin.CheckConfig says of custom_config.
var configKey = regexp.MustCompile(`^custom_config: (?:unknown key "([^"]+)"|(\w+):)`)

// checkBuiltinJob checks what the trainer or the tuner hands to a builtin module.
func checkBuiltinJob(file pipeline.File, part, name string, config map[string]any, steps int) error {
	if err := builtin.CheckConfig(name, config); err != nil {
		key := part + ".custom_config"
		if found := configKey.FindStringSubmatch(err.Error()); found != nil {
			key += "." + found[1] + found[2]
		}
		return file.At(key, fmt.Errorf("%s.%w", part, err))
	}
	if err := builtin.CheckSteps(config, steps); err != nil {
		return file.At(part+".train_args", fmt.Errorf("%s: %w", part, err))
	}
	return nil
}

// checkMetric refuses a metric that a builtin module does not report for the task of its custom_config.
func checkMetric(file pipeline.File, key, name string, config map[string]any, metric string) error {
	known := builtin.Metrics(config)
	if slices.Contains(known, metric) {
		return nil
	}
	hint := spelling.Suggestion(metric, known)
	if own, validation := strings.CutPrefix(metric, "val_"); validation && slices.Contains(known, own) { // as Keras calls it
		hint = "; did you mean " + own + "?"
	}
	what := "no metric of that name"
	if slices.Contains(builtin.Metrics(nil), metric) {
		what = "no such metric for the task of its custom_config"
		hint = ""
	}
	return file.At(key+".name", fmt.Errorf("%s.name: %s measures %s: expected one of %s, got %q%s",
		key, name, what, strings.Join(known, ", "), metric, hint))
}
