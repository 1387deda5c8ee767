package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/bridge"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
	"github.com/stoker-ml/stoker/local"
)

func newUp(app *app) *cobra.Command {
	var busPort, s3Port, slots int
	var consoleAt string
	var warm warmFlags
	var listen *string
	var withBridge func() (*bridge.Options, error)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything in one process: bus, store, dispatcher, worker and console",
		Long: "Runs an embedded NATS server, an embedded S3 server, a dispatcher, a worker and the console's web page until it is interrupted.\n" +
			"Servers listen on loopback only. Data stays in the data folder; other commands find the stack there.\n" +
			"The page's address serves /healthz, /readyz and /metrics too.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bridged, err := withBridge()
			err = errors.Join(err, within("nats-port", busPort, 0, maxPort), within("s3-port", s3Port, 0, maxPort),
				within("slots", slots, 0, anyCount), warm.check())
			if slots > 0 {
				err = errors.Join(err, checkCompute())
			}
			if err != nil {
				return err
			}
			options := app.stackOptions()
			options.BusPort, options.S3Port, options.Slots, options.NoWorker = busPort, s3Port, slots, slots == 0
			options.Warm, options.PythonWarm, options.Bridge = warm.processes, warm.python, bridged
			self := operated{app: app, what: "up", listen: *listen, page: consoleAt != noConsole}
			return self.run(cmd.Context(), func(ctx context.Context, o *operated) error {
				options.Telemetry = o.Telemetry
				return app.up(ctx, o, options, consoleAt)
			})
		},
	}
	cmd.Flags().IntVar(&busPort, "nats-port", 0, "port of the NATS server; 0: that of last time if it is free, else any")
	cmd.Flags().IntVar(&s3Port, "s3-port", 0, "port of the S3 server; 0: that of last time if it is free, else any")
	cmd.Flags().StringVar(&consoleAt, "console", defaultConsole, "where the web page is served, any port of loopback if that one is taken; off: nowhere")
	warm.add(cmd)
	cmd.Flags().IntVar(&slots, "slots", 1, "jobs at once; 0 leaves them to workers of their own")
	setElsewhere(cmd, "slots", settings.WorkerSlots)
	withBridge = upBridge(cmd)
	listen = listenFlag(cmd)
	return cmd
}

func (a *app) up(ctx context.Context, o *operated, options stack.Options, consoleAt string) error {
	return a.withStack(ctx, options, func(ctx context.Context, stack *stack.Stack) error {
		needs := asStack(stack)
		return a.withConsole(ctx, consoleAt, stack, o.probes(ctx, needs), func(ctx context.Context, url, token string) error {
			a.announce(stack, url, token)
			return o.while(ctx, needs, stack.Wait)
		})
	})
}

func (a *app) stackOptions() stack.Options {
	return stack.Options{DataDir: a.dataDir, Logger: a.logger(), Builtins: builtins()}
}

// withStack runs a stack for as long as do runs, and says what to do where there is one already.
func (a *app) withStack(ctx context.Context, options stack.Options, do func(context.Context, *stack.Stack) error) error {
	if err := logStderr(a.logger()); err != nil {
		return err
	}
	err := stack.With(ctx, options, do)
	if errors.Is(err, local.ErrInUse) {
		return fmt.Errorf("%w: use it as it is, or --data FOLDER for another", err)
	}
	return err
}

// announce says where everything is, and how to reach it from another terminal.
func (a *app) announce(stack *stack.Stack, console, token string) {
	c := stack.Connection()
	fmt.Fprintf(a.notes(), "stoker is up: data in %s\n", a.dataDir)
	fmt.Fprintf(a.notes(), "  bus        %s\n", stack.BusAddress())
	fmt.Fprintf(a.notes(), "  store      %s (artifacts in %s)\n", c.S3, c.Root)
	if console != "" {
		fmt.Fprintf(a.notes(), "  console    %s (to act there, or read as another user: token %s)\n", console, token)
	}
	fmt.Fprintln(a.notes(), "  in another terminal: stoker apply FILE, stoker publish FACT, stoker runs, stoker models")
	fmt.Fprintln(a.notes(), "  Ctrl-C stops it; the data stays")
}
