package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner/snapshot"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/model"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// applied is the result of apply.
type applied struct {
	Pipeline string `json:"pipeline"`
	Revision uint64 `json:"revision"`
	Changed  bool   `json:"changed"`
	Module   string `json:"module"` // as workers find it
}

// applyFlags are the flags of `stoker apply`.
type applyFlags struct{ upload, skipModule, dryRun bool }

func newApply(a *app.App) *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:         "apply FILE",
		GroupID:     app.Act,
		Annotations: app.Info{Role: access.Operator}.Annotations(),
		Short:       "Deploy a pipeline file",
		Long: "Deploys a pipeline file. Its text is kept with the revision, comments included, with your user and host name, for the console\n" +
			"and `stoker pipelines show --source`. Paths in it are relative to its folder. Workers open the module by its path: workers on other\n" +
			"machines need it in the store. --upload uploads the module from this machine and applies the pipeline with the module's address,\n" +
			"which depends only on its content.\n\n" +
			"Errors are reported with file, line and column: in keys and values of the file, a builtin module's configuration and\n" +
			"metrics, the syntax of a TFX module file and the functions that it must define. A module file is parsed, not run, by the Python\n" +
			"environment of modules on this machine, or else by python3. Without any Python its text is searched for the functions.",
		Example: "  stoker apply penguin.yaml\n" +
			"  stoker apply penguin.yaml --dry-run   # what would change\n" +
			"  stoker apply penguin.yaml --upload",
		Args: app.Exactly(1, "a pipeline file"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.apply(cmd.Context(), a, args[0]) },
	}
	cmd.Flags().BoolVar(&f.upload, "upload", false, "upload the module to the store, for workers on other machines")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "check the file and print what it would change, but don't apply it")
	cmd.Flags().BoolVar(&f.skipModule, "skip-module-check", false, "don't check a TFX module file here; the Python of the workers may be newer")
	return cmd
}

// apply deploys the named file, or prints what that would change.
func (f applyFlags) apply(ctx context.Context, a *app.App, name string) error {
	spec, source, err := readPipeline(ctx, a, name, f.skipModule)
	if err != nil {
		return err
	}
	origin := pipeline.OriginBy("stoker apply")
	origin.File, origin.Source = filepath.Base(name), source
	if f.upload && f.dryRun {
		return exit.Usage(errors.New("--dry-run and --upload: expected one of them"))
	}
	if f.upload {
		uploaded, err := uploadModule(ctx, a, spec.Module.Source())
		if err != nil {
			return err
		}
		spec.Module = pipeline.Module(uploaded)
	}
	return a.WithBus(ctx, func(ctx context.Context, bus events.Bus) error {
		if f.dryRun {
			return printChanges(ctx, a, bus, spec)
		}
		spec, err := orApplied(ctx, bus, spec)
		if err != nil {
			return err
		}
		revision, changed, err := dispatch.ApplyFrom(ctx, bus, spec, origin)
		if err != nil {
			return err
		}
		return a.Print(applied{spec.Name, revision, changed, spec.Module.Path}, func(w io.Writer) {
			fmt.Fprintf(w, "pipeline %s: revision %d%s\n", spec.Name, revision, map[bool]string{false: ", unchanged"}[changed])
			if f.upload {
				fmt.Fprintf(w, "module %s\n", spec.Module.Path)
			}
		})
	})
}

// plannedPipeline is the result of apply --dry-run.
type plannedPipeline struct {
	Pipeline string            `json:"pipeline"`
	Revision uint64            `json:"revision,omitempty"` // that is applied; 0: none is
	Changed  bool              `json:"changed"`
	Changes  []pipeline.Change `json:"changes,omitempty"` // from it
}

// printChanges prints what a file would change in the pipeline that is applied.
func printChanges(ctx context.Context, a *app.App, bus runs.Source, spec pipeline.Pipeline) error {
	now, err := runs.Open(bus, runs.Options{}).ReadPipeline(ctx, spec.Name, 0)
	if errors.Is(err, events.ErrNotFound) {
		return a.Print(plannedPipeline{Pipeline: spec.Name, Changed: true}, func(w io.Writer) {
			fmt.Fprintf(w, "pipeline %s is new; nothing was applied\n", spec.Name)
		})
	}
	if err != nil {
		return err
	}
	plan := plannedPipeline{Pipeline: spec.Name, Revision: now.Revision}
	if plan.Changes, err = pipeline.Diff(now.Spec, spec); err != nil {
		return err
	}
	plan.Changed = len(plan.Changes) > 0
	return a.Print(plan, func(w io.Writer) {
		shownPipeline{Against: plan.Revision, Changes: plan.Changes}.changes(w)
		fmt.Fprintln(w, "nothing was applied")
	})
}

// orApplied returns the applied pipeline if it has the same effective configuration as spec, as
// when the output of `stoker pipelines show` is applied: explicit defaults are no new revision.
// Otherwise it returns spec.
func orApplied(ctx context.Context, bus runs.Source, spec pipeline.Pipeline) (pipeline.Pipeline, error) {
	now, err := runs.Open(bus, runs.Options{}).ReadPipeline(ctx, spec.Name, 0)
	if err != nil {
		// Apply replaces a pipeline that can't be read, and reports any other error.
		return spec, ctx.Err()
	}
	applied, err := now.Spec.Effective()
	if err != nil {
		return spec, err
	}
	wanted, err := spec.Effective()
	if err == nil && bytes.Equal(applied, wanted) {
		spec = now.Spec
	}
	return spec, err
}

// readPipeline parses a file, and makes the checks that a worker would make with the first job.
// With skipModule it does not check the files of the module.
//
// text is that of the file, as the bus keeps it.
func readPipeline(ctx context.Context, a *app.App, name string, skipModule bool) (spec pipeline.Pipeline, text string, err error) {
	whole, err := os.ReadFile(name)
	if err != nil {
		return spec, "", noFile(name, err)
	}
	file, err := pipeline.ReadFile(name, whole)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "character '\t'"):
		err = fmt.Errorf("%w: indent with spaces, YAML has no tabs", err)
	case strings.Contains(err.Error(), "could not find flow"), strings.Contains(err.Error(), "must be specified"):
		err = fmt.Errorf("%w: close what { or [ opens there", err)
	}
	if err != nil {
		return spec, "", err
	}
	spec, err = checkFile(ctx, a, name, file, skipModule)
	return spec, pipeline.SourceOf(whole), err
}

func checkFile(ctx context.Context, a *app.App, name string, file pipeline.File, skipModule bool) (pipeline.Pipeline, error) {
	spec := file.Pipeline
	source, err := modules.RelativeTo(filepath.Dir(name), spec.Module.Source())
	if err != nil {
		return spec, file.At("module", fmt.Errorf("module: %w", err))
	}
	spec.Module = pipeline.Module(source)
	if !skipModule || spec.Module.IsBuiltin() {
		if err := modules.CheckModule(ctx, a, source, true, spec.Tunes()); err != nil {
			return spec, file.At("module", fmt.Errorf("module: %w", err))
		}
	}
	if !spec.Module.IsBuiltin() {
		return spec, nil
	}
	return spec, checkBuiltinPipeline(file, spec)
}

// noFile returns the error for a pipeline file that can't be read, with the files that may be
// meant.
func noFile(name string, err error) error {
	folder := filepath.Dir(name)
	if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
		folder, err = name, errors.New("expected a pipeline file, not a folder")
	}
	if name == "-" || strings.Contains(name, "://") {
		return exit.Usage(fmt.Errorf("%s: expected a file on this machine: save it first", name))
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		// None for a name with signs of patterns.
		found, _ := filepath.Glob(filepath.Join(folder, pattern))
		files = append(files, found...)
	}
	hint := spelling.Suggestion(name, files)
	switch {
	case hint == "" && len(files) == 1:
		hint = "; did you mean " + files[0] + "?"
	case hint == "" && folder == name && len(files) > 1:
		hint = ": one of " + strings.Join(files[:min(len(files), 5)], ", ")
	}
	return fmt.Errorf("%s: %w%s", name, app.Cause(err), hint)
}

// checkBuiltinPipeline returns an error for settings with which a builtin module could not train or
// tune on any data.
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
	measured := builtin.Metrics
	if search.Validated() {
		measured = builtin.ValidationMetrics
	}
	for i, objective := range search.Study.Objective {
		if err := checkMetric(file, fmt.Sprintf("tuner.study.objective[%d]", i), spec.Module.Path, measured, search.CustomConfig, objective.Name); err != nil {
			return err
		}
	}
	for i, constraint := range search.Study.Constraints {
		if err := checkMetric(file, fmt.Sprintf("tuner.study.constraints[%d]", i), spec.Module.Path, measured, search.CustomConfig, constraint.Name); err != nil {
			return err
		}
	}
	return nil
}

// configKey matches the key in an error of builtin.CheckConfig.
var configKey = regexp.MustCompile(`^custom_config: (?:unknown key "([^"]+)"|(\w+):)`)

// checkBuiltinJob checks what the trainer or the tuner passes to a builtin module.
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

// checkMetric returns an error for a metric that a builtin module does not report for the task of
// its custom_config.
func checkMetric(file pipeline.File, key, name string, measured func(config map[string]any) []string, config map[string]any, metric string) error {
	known := measured(config)
	if slices.Contains(known, metric) {
		return nil
	}
	hint := spelling.Suggestion(metric, known)
	// Keras's name.
	if own, validation := strings.CutPrefix(metric, "val_"); validation && slices.Contains(known, own) {
		hint = "; did you mean " + own + "?"
	}
	what := "no metric of that name"
	if slices.Contains(measured(nil), metric) {
		what = "no such metric for the task of its custom_config"
		hint = ""
	}
	return file.At(key+".name", fmt.Errorf("%s.name: %s measures %s: expected one of %s, got %q%s",
		key, name, what, strings.Join(known, ", "), metric, hint))
}

// uploadModule uploads a local module to the store, below modules/<digest>, and returns it with its
// address there. The address depends only on its content, so that applying a pipeline again makes
// no new revision, and nothing there ever changes.
func uploadModule(ctx context.Context, a *app.App, source module.Source) (module.Source, error) {
	if !modules.IsPath(source.Path) {
		return source, exit.Usage(fmt.Errorf("--upload: %s is not a path on this machine", source.Path))
	}
	err := a.WithStore(ctx, func(ctx context.Context, store storage.Store, root storage.Ref) (err error) {
		work := a.Begin("upload", terminal.Bytes)
		defer work.Close()
		if info, err := os.Stat(source.Path); err == nil && info.Mode().IsRegular() && !snapshot.IsPython(source.Path) {
			work.Expect(info.Size())
		}
		source, err = putModule(ctx, app.Counted(store, work), root.Join("modules"), source)
		return err
	})
	return source, err
}

func putModule(ctx context.Context, store storage.Store, root storage.Ref, source module.Source) (module.Source, error) {
	if snapshot.IsPython(source.Path) {
		return putPython(ctx, store, root, source)
	}
	info, err := os.Stat(source.Path)
	if err != nil {
		return source, err
	}
	if info.IsDir() {
		return source, fmt.Errorf("--upload: %s is the source of a Go program: build it for the machines of your workers, "+
			"and name the executable", source.Path)
	}
	digest, err := model.FileDigest(source.Path)
	if err != nil {
		return source, err
	}
	to := root.Join(digest, filepath.Base(source.Path))
	_, err = storage.PutFile(ctx, store, to, source.Path)
	source.Path = to.String()
	return source, err
}

// putPython uploads the files of a TFX module as a folder, which does not record which file was
// named.
func putPython(ctx context.Context, store storage.Store, root storage.Ref, source module.Source) (module.Source, error) {
	files, err := modules.TakeModule(ctx, source.Path)
	if err != nil {
		return source, err
	}
	alone, err := modules.TakeModule(ctx, files.Dir)
	if err != nil {
		return source, err
	}
	if alone.File != files.File && !strings.Contains(source.RunFn+source.TunerFn, ".") {
		return source, fmt.Errorf("--upload: the files next to %s are uploaded too, and some define the same function: name the function with its file, "+
			"as in run_fn: %s.run_fn", source.Path, strings.TrimSuffix(files.File, filepath.Ext(files.File)))
	}
	names, err := files.Names(ctx)
	if err != nil {
		return source, err
	}
	to := root.Join(strings.TrimPrefix(files.Digest, "sha256:"))
	for _, name := range names {
		if _, err := storage.PutFile(ctx, store, to.Join(name), filepath.Join(files.Dir, filepath.FromSlash(name))); err != nil {
			return source, err
		}
	}
	source.Path = to.String()
	return source, nil
}
