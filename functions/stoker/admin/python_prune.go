package admin

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// dropped is one environment that remove or prune has deleted.
type dropped struct {
	Dir string `json:"dir"`
	Why string `json:"why"`
}

func newPythonRemove(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "remove ENVIRONMENT...",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Remove Python environments that Stoker created",
		Long: "Removes environments that `stoker python list` lists, named by folder, by the folder's base name or the beginning of that, or by\n" +
			"interpreter. Modules that are running in one of them fail. It refuses to remove other environments.",
		Example: "  stoker python remove ~/venv",
		Args:    app.AtLeastOne("an environment"),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := environments(a)
			if err != nil {
				return err
			}
			gone := []dropped{}
			for _, arg := range args {
				made, err := chosenEnvironment(all, arg)
				if err != nil {
					return err
				}
				if err := made.Remove(); err != nil {
					return err
				}
				gone = append(gone, dropped{made.Dir, "as requested"})
			}
			return printDropped(a, gone)
		},
	}
}

// chosenEnvironment returns the environment that a user names by its folder, the last part of that
// or its beginning, or its interpreter.
func chosenEnvironment(all []python.Made, named string) (python.Made, error) {
	path, err := filepath.Abs(named)
	if err != nil {
		return python.Made{}, err
	}
	base := func(made python.Made) string { return filepath.Base(made.Dir) }
	made, found, err := app.Pick(all, named, "environments", base, func(made python.Made) bool { return made.Dir == path || made.Interpreter == path })
	if found || err != nil {
		return made, err
	}
	return python.Made{}, exit.NotFound(fmt.Errorf("%s is not an environment that Stoker created: `stoker python list` lists those", named))
}

func newPythonPrune(a *app.App) *cobra.Command {
	var unused time.Duration
	cmd := &cobra.Command{
		Use:         "prune",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Remove unused Python environments",
		Long: "Removes the environments that Stoker created if they are unused or their Python is gone, and the files of\n" +
			"interrupted setups.",
		Example: "  stoker python prune --unused 7d",
		Args:    app.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			return prune(a, unused)
		},
	}
	const month = 30 * 24 * time.Hour
	app.DurationVar(cmd.Flags(), &unused, "unused", month, "remove environments that were not used for this long, like 7d")
	return cmd
}

func prune(a *app.App, unused time.Duration) error {
	all, err := environments(a)
	if err != nil {
		return err
	}
	gone := []dropped{}
	for _, made := range all {
		if why := made.Outdated(time.Now(), unused); why != "" {
			if err := made.Remove(); err != nil {
				return err
			}
			gone = append(gone, dropped{made.Dir, why})
		}
	}
	homes, err := environmentHomes(a)
	if err != nil {
		return err
	}
	for _, home := range homes {
		halves, err := python.Halves(home)
		if err != nil {
			return err
		}
		for _, half := range halves {
			gone = append(gone, dropped{half, "incomplete"})
		}
	}
	return printDropped(a, gone)
}

func printDropped(a *app.App, gone []dropped) error {
	return a.Print(gone, func(w io.Writer) {
		for _, d := range gone {
			terminal.Row(w, "removed", d.Dir, d.Why)
		}
		if len(gone) == 0 {
			terminal.Row(w, "nothing to remove")
		}
	})
}
