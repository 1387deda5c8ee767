package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// warmFlags say what is kept ready for jobs to come.
type warmFlags struct {
	processes int
	python    string // one of guest.Warmth; "": what suits the machine
	idle      time.Duration
}

func (w *warmFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&w.processes, "warm", 1, "processes for builtin modules kept ready, once one has run; 0: none, nor for TFX modules")
	cmd.Flags().StringVar(&w.python, "python-warm", "",
		"how processes for TFX modules are kept ready: "+strings.Join(guest.Warmth(), ", ")+" (default fork, idle where there is a GPU)")
	cmd.Flags().DurationVar(&w.idle, "python-idle", 10*time.Minute, "how long processes for TFX modules stay without a job")
	setElsewhere(cmd, "warm", settings.WorkerWarm)
	setElsewhere(cmd, "python-warm", settings.WorkerPythonWarm)
}

func (w *warmFlags) check() error {
	err := within("warm", w.processes, 0, anyCount)
	if w.python != "" && !slices.Contains(guest.Warmth(), w.python) {
		err = errors.Join(err, exit.Usage(fmt.Errorf("--python-warm %s: expected one of %s", w.python, strings.Join(guest.Warmth(), ", "))))
	}
	if w.idle <= 0 {
		err = errors.Join(err, exit.Usage(fmt.Errorf("--python-idle %s: expected more than 0s; --python-warm off keeps none", w.idle)))
	}
	return err
}
