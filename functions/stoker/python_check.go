package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/guest/python"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func newPythonCheck(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check [INTERPRETER]",
		Short: "Import what TFX module files import, and say what is missing",
		Long: "Imports, in the Python that modules run in, or in another interpreter or environment's folder, what TFX module files import, TensorFlow\n" +
			"included: that takes some seconds. A package that is missing matters to modules that import it alone; without TensorFlow the\n" +
			"command fails.",
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
			if err := app.print(checked, func(w io.Writer) { checkedTable(w, checked) }); err != nil {
				return err
			}
			return checked.Usable()
		},
	}
}

// environmentToCheck is the one that is named, or else the one that modules run in.
func environmentToCheck(ctx context.Context, args []string) (python.Environment, error) {
	if len(args) > 0 {
		return python.Look(ctx, args[0])
	}
	return python.Find(ctx, python.Options{Default: os.Getenv(guest.PythonEnv)})
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
