// Command stoker is the only binary: bus, store, functions and command line on a laptop, a worker
// in production.
//
// Each group of commands is a package below this one that adds its commands to the root; they share
// app.App. Commands compose other packages and print: results to standard output, everything else
// to standard error. Read newRoot first.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/stoker/admin"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/model"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/publish"
	"github.com/stoker-ml/stoker/functions/stoker/run"
	"github.com/stoker-ml/stoker/functions/stoker/serve"
	"github.com/stoker-ml/stoker/functions/stoker/study"
	"github.com/stoker-ml/stoker/functions/stoker/table"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/functions/stoker/try"
)

// The linker sets these: version for releases, commit if the toolchain does not record it, so that
// all builds of one commit are equal.
var (
	version = "dev"
	commit  string
)

// thirdParty lists the components linked into this binary, with their licenses, sources and
// notices.
//
//go:generate go run ../../infra/licenses third_party.txt
//go:embed third_party.txt
var thirdParty string

func main() {
	if entered, err := process.Enter(os.Args); entered {
		fmt.Fprintln(terminal.NewStream(os.Stderr), "stoker:", err)
		os.Exit(126) // the status of shells for a program that can't be executed
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetOutput(terminal.NewStream(os.Stderr)) // used by libraries
	os.Exit(execute(ctx, os.Args, os.Stdout, os.Stderr))
}

// execute is main with its environment as arguments; the first of args is the name of the program.
// It returns the exit status. All output of the command passes through a terminal.Stream.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app.App{Self: args[0], Version: version, Commit: commit, ThirdParty: thirdParty, Stdout: terminal.NewStream(stdout), Stderr: terminal.NewStream(stderr)}
	// A closed stream does not fail the other.
	defer func() { _ = errors.Join(a.Stdout.Flush(), a.Stderr.Flush()) }()
	root := newRoot(a)
	root.SetArgs(args[1:])
	root.InitDefaultCompletionCmd(args[1:]...)
	refused := app.RefusalsAreUsage(root)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exit.OK
	case exit.IsInterrupt(ctx, err):
		err = exit.With(exit.Stopped, errors.New("interrupted"))
	case refused():
		err = exit.Usage(fmt.Errorf("%s%s; see `%s --help`", app.Plain(err), app.Suggestion(cmd, err), cmd.CommandPath()))
	}
	fmt.Fprintln(a.Stderr, "stoker:", terminal.Lines(app.AddRole(cmd, err).Error()))
	return exit.Code(err)
}

// newRoot builds the command tree.
func newRoot(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "stoker",
		Short: "Train and tune TFX models by events",
		Long: "Stoker is the Trainer and Tuner of a TensorFlow Extended pipeline as event-driven functions.\n" +
			"Start with `stoker demo`.\n\n" + exit.Help,
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true, // suggestion makes them
		Version:            a.Version,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.Configure(); err != nil {
				return err
			}
			if err := a.CheckOutput(cmd); err != nil {
				return err
			}
			return app.SetFlags(cmd, a.Found)
		},
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	a.AddFlags(root)
	root.AddCommand(slices.Concat(
		serve.Commands(a), publish.Commands(a), run.Commands(a), model.Commands(a), study.Commands(a), try.Commands(a), admin.Commands(a),
		[]*cobra.Command{modules.NewCommand(a), table.NewCommand()},
	)...)
	app.AddAliases(root)
	app.AddOutputHelp(root)
	app.AddHelp(root)
	return root
}
