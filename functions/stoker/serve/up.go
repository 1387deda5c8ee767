package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/functions/console"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
	"github.com/stoker-ml/stoker/local"
)

func newUp(a *app.App) *cobra.Command {
	var busPort, s3Port, slots int
	var consoleAt string
	var warm modules.WarmFlags
	var listen *string
	var withBridge func() (*bridge.Options, error)
	cmd := &cobra.Command{
		Use:         "up",
		GroupID:     app.Start,
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Run bus, store, dispatcher, worker and console",
		Long: "Runs an embedded NATS server, an embedded S3 server, a dispatcher, a worker and the console's web page until it is interrupted.\n" +
			"Servers listen on loopback only. Data is kept in the data folder, where other commands find the stack.\n" +
			"The console's address also serves /healthz, /readyz and /metrics.",
		Example: "  stoker up\n" +
			"  stoker up --slots 2 --bridge --bridge-pipeline penguin",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bridged, err := withBridge()
			err = errors.Join(err, app.Within("nats-port", busPort, 0, app.MaxPort), app.Within("s3-port", s3Port, 0, app.MaxPort),
				app.Within("slots", slots, 0, app.AnyCount), warm.Check())
			if slots > 0 {
				err = errors.Join(err, app.CheckCompute())
			}
			if err != nil {
				return err
			}
			options := StackOptions(a)
			options.BusPort, options.S3Port, options.Slots, options.NoWorker = busPort, s3Port, slots, slots == 0
			options.Warm, options.PythonWarm, options.Bridge = warm.Processes, warm.Python, bridged
			self := operated{app: a, what: "up", listen: *listen, page: consoleAt != noConsole}
			return self.run(cmd.Context(), func(ctx context.Context, o *operated) error {
				options.Telemetry = o.Telemetry
				return runUp(ctx, a, o, options, consoleAt)
			})
		},
	}
	cmd.Flags().IntVar(&busPort, "nats-port", 0, "port of the NATS server; 0: the previous one if it is free, else any")
	cmd.Flags().IntVar(&s3Port, "s3-port", 0, "port of the S3 server; 0: the previous one if it is free, else any")
	cmd.Flags().StringVar(&consoleAt, "console", DefaultConsole, "address of the console, or any loopback port if it is in use; off: no console")
	warm.Add(cmd)
	cmd.Flags().IntVar(&slots, "slots", 1, "concurrent jobs; 0: none, for separate workers")
	app.SetElsewhere(cmd, "slots", settings.WorkerSlots)
	withBridge = upBridge(cmd)
	listen = listenFlag(cmd)
	return cmd
}

func runUp(ctx context.Context, a *app.App, o *operated, options stack.Options, consoleAt string) error {
	return WithStack(ctx, a, options, func(ctx context.Context, stack *stack.Stack) error {
		needs := asStack(stack)
		return WithConsole(ctx, a, consoleAt, stack, o.probes(ctx, needs), func(ctx context.Context, url, token string) error {
			Announce(a, stack, url, token)
			return o.while(ctx, needs, stack.Wait)
		})
	})
}

func StackOptions(a *app.App) stack.Options {
	return stack.Options{DataDir: a.DataDir, Logger: a.Logger(), Builtins: modules.Builtins()}
}

// WithStack runs a stack while do runs. If there is one already, the error says what to do.
func WithStack(ctx context.Context, a *app.App, options stack.Options, do func(context.Context, *stack.Stack) error) error {
	if err := logStderr(a.Logger()); err != nil {
		return err
	}
	err := stack.With(ctx, options, do)
	if errors.Is(err, local.ErrInUse) {
		return fmt.Errorf("%w: use that stack, or start another with --data FOLDER", err)
	}
	return err
}

// Announce prints all addresses, and how to use the stack from another terminal.
func Announce(a *app.App, stack *stack.Stack, console, token string) {
	c := stack.Connection()
	fmt.Fprintf(a.Notes(), "stoker is up: data in %s\n", a.DataDir)
	fmt.Fprintf(a.Notes(), "  bus        %s\n", stack.BusAddress())
	fmt.Fprintf(a.Notes(), "  store      %s (artifacts in %s)\n", c.S3, c.Root)
	if console != "" {
		fmt.Fprintf(a.Notes(), "  console    %s (to act there, or read as another user: token %s)\n", console, token)
	}
	fmt.Fprintln(a.Notes(), "  in another terminal: stoker apply FILE, stoker publish EVENT, stoker runs, stoker models")
	fmt.Fprintln(a.Notes(), "  Ctrl-C stops it; the data stays")
}

// noConsole is the value of --console for none.
const noConsole = "off"

// WithConsole runs a console together with do, unless it is off. Its token is kept with the data. A
// new one in its file replaces it while the console runs; if the file is removed, a new one is
// generated.
func WithConsole(ctx context.Context, a *app.App, address string, stack *stack.Stack, probes http.Handler, do func(ctx context.Context, url, token string) error) error {
	if address == noConsole {
		return do(ctx, "", "")
	}
	token, err := keptToken(a.DataDir)
	if err != nil {
		return err
	}
	listener, err := listenConsole(a, address)
	if err != nil {
		return err
	}
	opts := consoleOptions(a, app.Link{Bus: stack.Bus, Store: stack.Store, Root: stack.Root})
	opts.Token, opts.Readers, opts.Probes = token, readers(listener.Addr(), false), probes
	running, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() error {
		return serveConsole(ctx, listener, opts, func() (string, error) { return renewedToken(a.DataDir) })
	})
	running.Go(func() error { defer stop(); return do(ctx, "http://"+listener.Addr().String()+"/", token) })
	return running.Wait()
}

// listenConsole uses any port if the default one is in use, since two stacks may run at once.
func listenConsole(a *app.App, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil && address == DefaultConsole {
		host, _, _ := net.SplitHostPort(address)
		listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--console %s: %w", address, err))
	}
	return listener, nil
}

// tokenFile is the file with the console's token in a data folder.
func tokenFile(dataDir string) string { return filepath.Join(dataDir, "console.token") }

// renewedToken returns the current token of a running console. A file without a valid token may
// still be being written: it is left unchanged.
func renewedToken(dataDir string) (string, error) {
	text, err := os.ReadFile(tokenFile(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return keptToken(dataDir)
	}
	token := strings.TrimSpace(string(text))
	if err == nil && len(token) < minToken {
		err = fmt.Errorf("%s: a token of %d characters: expected %d or more", tokenFile(dataDir), len(token), minToken)
	}
	return token, err
}

// keptToken returns the console's token of a data folder, generated the first time.
func keptToken(dataDir string) (string, error) {
	name := tokenFile(dataDir)
	text, err := os.ReadFile(name)
	if err == nil && len(strings.TrimSpace(string(text))) >= minToken {
		return strings.TrimSpace(string(text)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the console's token: %w", err)
	}
	token := console.NewToken()
	return token, os.WriteFile(name, []byte(token+"\n"), 0o600)
}

// logStderr redirects os.Stderr, to which libraries write by themselves, to log until the process
// ends. The embedded S3 server reports errors of requests there, in color.
func logStderr(log *slog.Logger) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	os.Stderr = w
	go func() { // ends with the process
		lines := bufio.NewReader(r)
		for {
			line, _, err := lines.ReadLine() // a long one in parts
			if err != nil {
				return
			}
			log.Warn("an embedded server reports an error", "error", string(colors.ReplaceAll(line, nil)))
		}
	}()
	return nil
}

var colors = regexp.MustCompile(`\x1b\[[0-9;]*m`)
