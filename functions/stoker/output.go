package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// checkOutput refuses an unknown format.
func checkOutput(format settings.Value) error {
	if slices.Contains(terminal.Formats(), format.Text) {
		return nil
	}
	named := "-o"
	if format.From != "--output" {
		named = format.From + ": output:"
	}
	return exit.Usage(fmt.Errorf("%s %s: expected table, json or yaml", named, format.Text))
}

// forPrograms says whether results are read by programs.
func (a *app) forPrograms() bool { return terminal.ForPrograms(a.output) }

// print writes a result in the format that was asked for.
func (a *app) print(v any, table func(w io.Writer)) error {
	return terminal.Print(a.stdout, a.output, v, table)
}

// display shows progress on standard error; none with -q.
func (a *app) display() terminal.Display {
	if a.quiet {
		return terminal.NoDisplay{}
	}
	return terminal.NewDisplay(a.stderr)
}
