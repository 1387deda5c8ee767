package try

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/pipeline/tfxdsl"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

func newFromTFX(a *app.App) *cobra.Command {
	var to string
	o := tfxdsl.Options{Timeout: time.Minute}
	cmd := &cobra.Command{
		Use:         "from-tfx PIPELINE.PY",
		GroupID:     app.Start,
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Convert a TFX pipeline to a pipeline file",
		Long: "Runs a file of TFX's pipeline DSL with a tfx package that only records, and prints the pipeline file of its Trainer and Tuner. An\n" +
			"argument without an equivalent becomes a comment that begins with warning, or an error with its line: see infra/docs/from-tfx.md.\n\n" +
			"It needs Python (STOKER_PYTHON, else python3), but neither tfx nor TensorFlow. The file is run as untrusted code: if\n" +
			"the kernel has Landlock and namespaces it writes no file, reads no credentials and has no network.",
		Example: "  stoker from-tfx penguin_pipeline.py --to penguin.yaml && stoker apply penguin.yaml --upload",
		Args:    app.Exactly(1, "a Python file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Timeout <= 0 {
				return exit.Usage(fmt.Errorf("--timeout %s: expected more than 0", o.Timeout))
			}
			text, err := fromTFX(cmd.Context(), a, args[0], o)
			if err != nil {
				return err
			}
			if to == "" {
				_, err = a.Stdout.Data("yaml").Write(text)
				return err
			}
			return os.WriteFile(to, text, 0o644)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "file for the pipeline instead of standard output")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", o.Timeout, "how long the file may run")
	return cmd
}

func fromTFX(ctx context.Context, a *app.App, path string, o tfxdsl.Options) ([]byte, error) {
	hidden, err := a.SecretFiles()
	if err != nil {
		return nil, err
	}
	o.Run = func(cmd *exec.Cmd) error { return runner.RunConfined(cmd, hidden) }
	if o.Python, err = exec.LookPath(cmp.Or(os.Getenv(runner.PythonEnv), "python3")); err != nil {
		return nil, fmt.Errorf("%w: install Python, or name an interpreter in %s", errors.Unwrap(err), runner.PythonEnv)
	}
	recorded, err := tfxdsl.Record(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if !recorded.Isolated {
		fmt.Fprintf(a.Notes(), "%s ran with network access: this system does not let this user create a network namespace\n", path)
	}
	text, err := recorded.Pipeline()
	for _, warning := range tfxdsl.Warnings(text) {
		fmt.Fprintf(a.Notes(), "%s: %s\n", path, warning)
	}
	return text, err
}
