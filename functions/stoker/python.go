package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/guest/python"
)

func newPython(app *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "python",
		Short: "Make, list and check the Python environments that TFX module files run in",
		Long: "TFX module files run in a Python environment that has TensorFlow, tensorflow-transform and tfx-bsl; tfx itself isn't needed. Which one:\n" +
			"that of module.python in the pipeline, else of STOKER_PYTHON, else the one that `stoker python setup` made last. What a pipeline\n" +
			"lists in module.requirements is installed once, beside it.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPythonSetup(app), newPythonList(app), newPythonCheck(app), newPythonRemove(app), newPythonPrune(app))
	return cmd
}

// moduleCache is where a worker's guest keeps what it builds and installs.
func moduleCache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "stoker", "modules"), nil
}

// environmentHomes are the folders with environments of Stoker's making: those of setup, and those that workers and the
// local stack have made for requirements.
func (a *app) environmentHomes() ([]string, error) {
	home, err := python.Home()
	if err != nil {
		return nil, err
	}
	cache, err := moduleCache()
	if err != nil {
		return nil, err
	}
	return []string{home, python.InCache(cache), python.InCache(filepath.Join(a.dataDir, "modules"))}, nil
}

// environments are all of Stoker's making.
func (a *app) environments() ([]python.Made, error) {
	homes, err := a.environmentHomes()
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

// daysAgo says how long ago something was, for people.
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
