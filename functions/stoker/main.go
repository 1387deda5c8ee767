// Command stoker is the one binary: bus, store, functions and tool on a laptop, a worker in production.
//
// Each command lives in a file of its own name. The commands compose other packages and print; the work is done there. Results
// go to standard output, everything else to standard error. Read newRoot first.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// version is set by the linker for releases.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetOutput(terminal.NewStream(os.Stderr)) // of libraries
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr))
}

// run is main with its world handed in; the first of args is how the program was called. It returns the exit status. All that the command
// prints goes through a terminal.Stream.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := &app{self: args[0], stdout: terminal.NewStream(stdout), stderr: terminal.NewStream(stderr)}
	defer func() { _ = errors.Join(app.stdout.Flush(), app.stderr.Flush()) }() // a stream that is gone is no other's failure
	root := newRoot(app)
	root.SetArgs(args[1:])
	root.InitDefaultCompletionCmd(args[1:]...)
	refused := refusalsAreUsage(root)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exit.OK
	case exit.IsInterrupt(ctx, err):
		err = exit.With(exit.Stopped, errors.New("interrupted"))
	case refused():
		err = exit.Usage(fmt.Errorf("%s%s; `%s --help` says how", strings.Join(strings.Fields(err.Error()), " "), suggestion(cmd, err), cmd.CommandPath()))
	}
	fmt.Fprintln(app.stderr, "stoker:", terminal.Lines(whoMay(cmd, err).Error()))
	return exit.Code(err)
}

// newRoot builds the command tree.
func newRoot(app *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "stoker",
		Short: "Train and tune TFX models by events",
		Long: "Stoker is the Trainer and Tuner of a TensorFlow Extended pipeline as event-driven functions.\n" +
			"Start with `stoker demo`.\n\n" + exit.Help,
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true, // suggestion makes them
		Version:            version,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := app.configure(); err != nil {
				return err
			}
			return setFlags(cmd, app.found)
		},
	}
	root.SetOut(app.stdout)
	root.SetErr(app.stderr)
	app.addFlags(root.PersistentFlags())
	root.AddCommand(
		newDemo(app), newUp(app), newWorker(app), newDispatch(app), newBridge(app), newConsole(app), newNotify(app),
		newApply(app), newPipelines(app), newUpload(app), newPublish(app), newRuns(app), newModels(app), newStudies(app),
		newLogs(app), newWatch(app), newLineage(app), newReproduce(app),
		newCancel(app), newPause(app), newResume(app), newDead(app), newReplay(app), newGC(app),
		newTry(app), newInspect(app), newSchema(app), newFromTFX(app), newPython(app), newAccess(app), newStreams(app), newDoctor(app), newConfig(app), newMan(app), newVersion(app), newModule(app), newTable(),
	)
	app.complete(root)
	return root
}
