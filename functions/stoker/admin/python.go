package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func newPython(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "python",
		GroupID:     app.Start,
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Manage the Python environments of TFX modules",
		Long: "TFX module files run in a Python environment that has TensorFlow, tensorflow-transform and tfx-bsl; tfx itself isn't needed.\n" +
			"The environment is that of module.python in the pipeline, else of STOKER_PYTHON, else the one that `stoker python setup` created\n" +
			"last. The packages that a pipeline lists in module.requirements are installed once, in addition.",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPythonSetup(a), newPythonList(a), newPythonCheck(a), newPythonRemove(a), newPythonPrune(a))
	return cmd
}

// environmentHomes returns the folders with environments that Stoker created: those of setup, and
// those that workers and the local stack created for requirements.
func environmentHomes(a *app.App) ([]string, error) {
	home, err := python.Home()
	if err != nil {
		return nil, err
	}
	cache, err := modules.ModuleCache()
	if err != nil {
		return nil, err
	}
	return []string{home, python.InCache(cache), python.InCache(filepath.Join(a.DataDir, "modules"))}, nil
}

// environments returns all environments that Stoker created.
func environments(a *app.App) ([]python.Made, error) {
	homes, err := environmentHomes(a)
	if err != nil {
		return nil, err
	}
	var all []python.Made
	for _, home := range homes {
		made, err := python.All(home)
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}

// daysAgo formats an age for people.
func daysAgo(then, now time.Time) string {
	switch days := int(now.Sub(then).Hours() / 24); {
	case days < 1:
		return "today"
	case days == 1:
		return "a day ago"
	default:
		return fmt.Sprintf("%d days ago", days)
	}
}

func newPythonSetup(a *app.App) *cobra.Command {
	var gpu, estimator bool
	var opts python.MakeOptions
	cmd := &cobra.Command{
		Use:         "setup",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Create a Python environment for TFX modules",
		Long: "Creates a Python environment in your cache folder, once, from pinned packages: TensorFlow 2.21, tensorflow-transform and tfx-bsl\n" +
			"1.21, KerasTuner and TensorBoard. It needs 2 GB of disk and is installed from wheels by uv, or by pip if uv is not on PATH. Modules\n" +
			"that name no other environment use it from then on.\n\n" +
			"It needs Python 3.11, 3.12 or 3.13 on Linux x86-64 or macOS arm64; it was never run on macOS. With --gpu, TensorFlow includes\n" +
			"NVIDIA's libraries; these versions were never run on a GPU. With --estimator, TensorFlow is 2.15, the last version with\n" +
			"Estimators, for modules with trainer_fn (Python 3.11): name that environment in the pipeline as module.python.",
		Example: "  stoker python setup\n" +
			"  stoker python setup --estimator",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case gpu && estimator:
				return exit.Usage(errors.New("--gpu and --estimator: expected one of them"))
			case gpu:
				opts.Kind = python.GPU
			case estimator:
				opts.Kind = python.Estimator
			}
			opts.Progress = a.Notes()
			work := &installing{}
			opts.Installing = func(packages int) io.Writer { return work.begin(a, packages) }
			made, err := python.Make(cmd.Context(), opts)
			work.Close()
			if err != nil {
				return exit.Interrupted(cmd.Context(), err, "the incomplete environment is removed")
			}
			return a.Print(made, func(w io.Writer) { printMade(a, w, made) })
		},
	}
	cmd.Flags().BoolVar(&gpu, "gpu", false, "TensorFlow with NVIDIA's libraries (6 GB)")
	cmd.Flags().BoolVar(&estimator, "estimator", false, "TensorFlow 2.15, which has Estimators")
	cmd.Flags().BoolVar(&opts.Force, "force", false, "create it again if it exists; stop all programs that use it first")
	cmd.Flags().BoolVar(&opts.Pip, "pip", false, "install with pip even if uv is on PATH")
	cmd.Flags().StringVar(&opts.Base, "python", "", "Python to create it with; default: the first supported one on PATH")
	return cmd
}

// printMade prints the next step.
func printMade(a *app.App, w io.Writer, made python.Made) {
	fmt.Fprintln(w, made.Interpreter)
	switch {
	case made.Kind == python.Estimator:
		fmt.Fprintf(a.Notes(), "name it in the pipeline: module: {path: ..., python: %s}\n", made.Dir)
	case os.Getenv(runner.PythonEnv) != "":
		fmt.Fprintf(a.Notes(), "%s is set and takes precedence\n", runner.PythonEnv)
	default:
		fmt.Fprintln(a.Notes(), "TFX module files use it from now on: `"+a.Command("try ./module.py")+"`")
	}
}

// EnvironmentLine is one line of `stoker python list`.
type EnvironmentLine struct {
	python.Made
	Bytes   int64 `json:"bytes"`
	Current bool  `json:"current"` // its packages are those that setup would install today
	Default bool  `json:"default"` // for modules that name none
}

func newPythonList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "list",
		Annotations: app.Info{Role: app.NoRole, Output: app.List,
			Names: "the folder's base name", Always: "dir interpreter python created used bytes current default", Optional: "kind base requirements lock",
		}.Annotations(),
		Short:   "List the Python environments that Stoker created",
		Long:    "Lists the Python environments that Stoker created, with their size and the pipelines that use them.",
		Example: "  stoker python list",
		Args:    app.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			lines, err := listEnvironments(a)
			if err != nil {
				return err
			}
			name := func(l EnvironmentLine) string { return filepath.Base(l.Dir) }
			return app.PrintList(a, app.Listing[EnvironmentLine]{Items: lines, Name: name, Columns: environmentColumns})
		},
	}
}

func listEnvironments(a *app.App) ([]EnvironmentLine, error) {
	all, err := environments(a)
	if err != nil {
		return nil, err
	}
	home, err := python.Home()
	if err != nil {
		return nil, err
	}
	byDefault, err := python.Default(home)
	if err != nil && !errors.Is(err, python.ErrNone) {
		return nil, err
	}
	lines := []EnvironmentLine{}
	for _, made := range all {
		size, err := made.Bytes()
		if err != nil {
			return nil, err
		}
		lines = append(lines, EnvironmentLine{
			Made: made, Bytes: size, Current: made.Current(), Default: made.Dir == byDefault.Dir && os.Getenv(runner.PythonEnv) == "",
		})
	}
	return lines, nil
}

var environmentColumns = []app.Column[EnvironmentLine]{
	{Head: "KIND", Of: func(l EnvironmentLine) any { return cmp.Or(string(l.Kind), "requirements") }},
	{Head: "PYTHON", Of: func(l EnvironmentLine) any { return l.Python }},
	{Head: "MB", Of: func(l EnvironmentLine) any { return l.Bytes / 1e6 }},
	{Head: "LAST USED", Of: func(l EnvironmentLine) any { return daysAgo(l.Used, time.Now()) }},
	{Head: "FOR", Of: func(l EnvironmentLine) any { return l.user() }},
	{Head: "INTERPRETER", Of: func(l EnvironmentLine) any { return l.Interpreter }},
}

// user returns the purpose of an environment.
func (l EnvironmentLine) user() string {
	switch {
	case len(l.Requirements) > 0:
		return "pipelines that require " + strings.Join(l.Requirements, ", ")
	case l.Default:
		return "pipelines that name no other"
	case l.Kind != python.Estimator && !l.Current:
		return "pipelines that name it; its packages are of another version of Stoker"
	}
	return "pipelines that name it"
}

func newPythonCheck(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "check [INTERPRETER]",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Check that the imports of TFX modules are installed",
		Long: "Imports the packages that TFX module files import, including TensorFlow, which takes some seconds. It checks the Python environment\n" +
			"of modules, or the interpreter or environment's folder given. A missing package only affects modules that import it; without\n" +
			"TensorFlow the command fails.",
		Example: "  stoker python check\n" +
			"  stoker python check ~/venv/bin/python",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			environment, err := environmentToCheck(cmd.Context(), args)
			if err != nil {
				return err
			}
			checked, err := python.Check(cmd.Context(), environment)
			if err != nil {
				return err
			}
			if err := a.Print(checked, func(w io.Writer) { checkedTable(w, checked) }); err != nil {
				return err
			}
			return checked.Usable()
		},
	}
}

// environmentToCheck returns the named environment, or else the one in which modules run.
func environmentToCheck(ctx context.Context, args []string) (python.Environment, error) {
	if len(args) > 0 {
		return python.Look(ctx, args[0])
	}
	return python.Find(ctx, python.Options{Default: os.Getenv(runner.PythonEnv)})
}

func checkedTable(w io.Writer, c python.Checked) {
	terminal.Row(w, "python", c.Python, "ok", c.Interpreter)
	for _, p := range c.Packages {
		switch {
		case p.Add != "":
			terminal.Row(w, p.Package, "-", p.Problem, p.Add)
		case p.Problem != "":
			terminal.Row(w, p.Package, p.Version, "broken", p.Problem)
		default:
			terminal.Row(w, p.Package, p.Version, "ok", "")
		}
	}
	if c.Usable() == nil {
		terminal.Row(w, "GPUs", c.GPUs, "", "that TensorFlow sees")
	}
}
