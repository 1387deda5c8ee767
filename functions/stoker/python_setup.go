package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/guest/python"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

func newPythonSetup(app *app) *cobra.Command {
	var gpu, estimator bool
	var opts python.MakeOptions
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Make a Python environment for TFX module files",
		Long: "Makes a Python environment in your cache folder, once, from packages at fixed versions: TensorFlow 2.21, tensorflow-transform and tfx-bsl\n" +
			"1.21, KerasTuner and TensorBoard. It holds 2 GB and is installed by uv where that is on PATH, else by pip, wheels only. Modules that\n" +
			"name no other use it from then on.\n\n" +
			"It needs Python 3.11, 3.12 or 3.13 on Linux x86-64 (on macOS arm64 too, where it was never run). With --gpu, TensorFlow brings NVIDIA's\n" +
			"libraries; the versions were resolved together, and never run on a GPU. With --estimator, TensorFlow is 2.15, the last that has\n" +
			"Estimators, for modules with trainer_fn (Python 3.11): a pipeline names it as module.python.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case gpu && estimator:
				return exit.Usage(errors.New("--gpu and --estimator: expected one of them"))
			case gpu:
				opts.Kind = python.GPU
			case estimator:
				opts.Kind = python.Estimator
			}
			opts.Progress = app.notes()
			made, err := python.Make(cmd.Context(), opts)
			if err != nil {
				return exit.Interrupted(cmd.Context(), err, "what was half made is removed")
			}
			return app.print(made, func(w io.Writer) { app.tellMade(w, made) })
		},
	}
	cmd.Flags().BoolVar(&gpu, "gpu", false, "TensorFlow with NVIDIA's libraries (6 GB)")
	cmd.Flags().BoolVar(&estimator, "estimator", false, "TensorFlow 2.15, which has Estimators")
	cmd.Flags().BoolVar(&opts.Force, "force", false, "make it again where it is there; stop what runs in it first")
	cmd.Flags().BoolVar(&opts.Pip, "pip", false, "install with pip even where uv is on PATH")
	cmd.Flags().StringVar(&opts.Base, "python", "", "Python to make it with; default: the first on PATH that there are packages for")
	return cmd
}

// tellMade says what is next.
func (a *app) tellMade(w io.Writer, made python.Made) {
	fmt.Fprintln(w, made.Interpreter)
	switch {
	case made.Kind == python.Estimator:
		fmt.Fprintf(a.notes(), "a pipeline names it: module: {path: ..., python: %s}\n", made.Dir)
	case os.Getenv(guest.PythonEnv) != "":
		fmt.Fprintf(a.notes(), "%s is set, and goes before it\n", guest.PythonEnv)
	default:
		fmt.Fprintln(a.notes(), "TFX module files run in it from now on: `"+a.command("try ./module.py")+"`")
	}
}
