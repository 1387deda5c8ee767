package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/local"
)

func newUp(app *app) *cobra.Command {
	var busPort, s3Port, slots int
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything in one process: bus, store, dispatcher and worker",
		Long: "Runs an embedded NATS server, an embedded S3 server, a dispatcher and a worker until it is interrupted.\n" +
			"Servers listen on loopback only. Data stays in the data folder; other commands find the stack there.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options := app.stackOptions()
			options.BusPort, options.S3Port, options.Slots, options.NoWorker = busPort, s3Port, slots, slots == 0
			return local.With(cmd.Context(), options, func(ctx context.Context, stack *local.Stack) error {
				app.announce(stack)
				return stack.Wait(ctx)
			})
		},
	}
	cmd.Flags().IntVar(&busPort, "nats-port", 0, "port of the NATS server; 0: any free one")
	cmd.Flags().IntVar(&s3Port, "s3-port", 0, "port of the S3 server; 0: any free one")
	cmd.Flags().IntVar(&slots, "slots", 1, "jobs at once; 0 leaves them to `stoker worker`")
	return cmd
}

func (a *app) stackOptions() local.Options {
	return local.Options{DataDir: a.dataDir, Logger: a.logger(), Builtins: builtins()}
}

// announce says where everything is, and how to reach it from another terminal.
func (a *app) announce(stack *local.Stack) {
	c := stack.Connection()
	fmt.Fprintf(a.stderr, "stoker is up: data in %s\n", a.dataDir)
	fmt.Fprintf(a.stderr, "  bus        %s\n", stack.BusAddress())
	fmt.Fprintf(a.stderr, "  store      %s (artifacts in %s)\n", c.S3, c.Root)
	fmt.Fprintln(a.stderr, "  in another terminal: stoker apply FILE, stoker publish FACT, stoker runs, stoker models")
	fmt.Fprintln(a.stderr, "  Ctrl-C stops it; the data stays")
}
