package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/guest/python"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// environmentLine is one line of `stoker python list`.
type environmentLine struct {
	python.Made
	Bytes   int64 `json:"bytes"`
	Current bool  `json:"current"` // its packages are those that setup would install today
	Default bool  `json:"default"` // of modules that name none
}

func newPythonList(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the Python environments that Stoker made, with their size and what uses them",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			lines, err := app.listEnvironments()
			if err != nil {
				return err
			}
			return app.print(lines, func(w io.Writer) { environmentsTable(w, lines) })
		},
	}
}

func (a *app) listEnvironments() ([]environmentLine, error) {
	all, err := a.environments()
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
	lines := []environmentLine{}
	for _, made := range all {
		size, err := made.Bytes()
		if err != nil {
			return nil, err
		}
		lines = append(lines, environmentLine{
			Made: made, Bytes: size, Current: made.Current(), Default: made.Dir == byDefault.Dir && os.Getenv(guest.PythonEnv) == "",
		})
	}
	return lines, nil
}

func environmentsTable(w io.Writer, lines []environmentLine) {
	terminal.Row(w, "KIND", "PYTHON", "MB", "LAST USED", "FOR", "INTERPRETER")
	for _, l := range lines {
		kind := string(l.Kind)
		if kind == "" {
			kind = "requirements"
		}
		terminal.Row(w, kind, l.Python, l.Bytes/1e6, daysAgo(l.Used, time.Now()), l.user(), l.Interpreter)
	}
}

// user says what an environment is for.
func (l environmentLine) user() string {
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
