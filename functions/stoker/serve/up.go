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
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/functions/console"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
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
			if consoleAt != noConsole {
				err = errors.Join(err, app.Address(consoleListen, consoleAt, "; or off"))
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
				return runUp(ctx, a, o, options, ConsoleAddress{consoleAt, consoleAt == DefaultConsole && !cmd.Flags().Changed(consoleListen)})
			})
		},
	}
	cmd.Flags().IntVar(&busPort, "nats-port", 0, "port of the NATS server; 0: the previous one if it is free, else any")
	cmd.Flags().IntVar(&s3Port, "s3-port", 0, "port of the S3 server; 0: the previous one if it is free, else any")
	cmd.Flags().StringVar(&consoleAt, consoleListen, DefaultConsole, "address of the console; by default another loopback port if this one is in use; off: no console")
	warm.Add(cmd)
	cmd.Flags().IntVar(&slots, "slots", 1, "concurrent jobs; 0: none, for separate workers")
	app.SetElsewhere(cmd, "slots", settings.WorkerSlots)
	app.SetElsewhere(cmd, consoleListen, settings.ConsoleListen)
	withBridge = upBridge(cmd)
	listen = listenFlag(cmd)
	return cmd
}

func runUp(ctx context.Context, a *app.App, o *operated, options stack.Options, consoleAt ConsoleAddress) error {
	return WithStack(ctx, a, options, func(ctx context.Context, stack *stack.Stack) error {
		needs := asStack(stack)
		return WithConsole(ctx, a, consoleAt, stack, o.probes(ctx, needs), func(ctx context.Context, url, token string) error {
			Announce(a, stack, url, token)
			return o.while(ctx, needs, stack.Wait)
		})
	})
}

func StackOptions(a *app.App) stack.Options {
	return stack.Options{DataDir: a.DataDir, Logger: a.Logger(), Version: a.Version, Builtins: modules.Builtins()}
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
	if errors.Is(err, local.ErrFolder) {
		return fmt.Errorf("%w: name another folder with --data FOLDER", err)
	}
	return occupied(options, err)
}

// occupied names the flag of a port that a server can't listen on.
func occupied(options stack.Options, err error) error {
	failed, ok := errors.AsType[*net.OpError](err)
	if !ok || failed.Op != "listen" {
		return err
	}
	at, ok := failed.Addr.(*net.TCPAddr)
	if !ok {
		return err
	}
	for flag, port := range map[string]int{"nats-port": options.BusPort, "s3-port": options.S3Port} {
		if port == at.Port && port != 0 {
			return app.InUse(flag, strconv.Itoa(port), "give another port, or 0 for a free one", err)
		}
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

// noConsole is the value of --console-listen for none.
const noConsole = "off"

// ConsoleAddress is where a console listens: movable to another port if it is the default that
// nobody asked for.
type ConsoleAddress struct {
	address string
	movable bool
}

// AnyConsole is the default address, or another port.
func AnyConsole() ConsoleAddress { return ConsoleAddress{DefaultConsole, true} }

// WithConsole runs a console together with do, unless it is off. Its token is kept with the data. A
// new one in its file replaces it while the console runs; if the file is removed, a new one is
// generated.
func WithConsole(ctx context.Context, a *app.App, at ConsoleAddress, stack *stack.Stack, probes http.Handler, do func(ctx context.Context, url, token string) error) error {
	if at.address == noConsole {
		return do(ctx, "", "")
	}
	token, err := keptToken(a.DataDir)
	if err != nil {
		return err
	}
	listener, err := at.listen(a)
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

// listen listens at the address. It uses any port, with a note, if the default one is in use, since
// two stacks may run at once.
func (c ConsoleAddress) listen(a *app.App) (net.Listener, error) {
	listener, err := net.Listen("tcp", c.address)
	if err == nil {
		return listener, nil
	}
	if !c.movable {
		return nil, app.InUse(consoleListen, c.address, "give another address, 127.0.0.1:0 for a free port, or off", err)
	}
	host, _, _ := net.SplitHostPort(c.address)
	if listener, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err == nil {
		fmt.Fprintf(a.Notes(), "%s is in use, perhaps by another console: this one is at %s\n", c.address, listener.Addr())
	}
	return listener, err
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
