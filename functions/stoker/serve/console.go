package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/console"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/internal/peer"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// consoleTokenEnv is the environment variable with the console's token.
const consoleTokenEnv = "STOKER_CONSOLE_TOKEN"

// consoleListen is the flag for the console's address; --listen is that of probes alone.
const consoleListen = "console-listen"

// DefaultConsole is the console's address: on loopback.
const DefaultConsole = "127.0.0.1:8790"

// consoleFlags are the address of a console and its permissions.
type consoleFlags struct {
	listen, tokenFile string
	hosts             []string
	readOnly, open    bool
}

// readers returns the users that may read without the token at an address: on loopback processes of
// this user, elsewhere none.
func readers(at net.Addr, open bool) console.Readers {
	switch {
	case open:
		return console.Everybody
	case isLoopback(at) && peer.Supported:
		return console.SameUser
	}
	return console.TokenHolders
}

func newConsole(a *app.App) *cobra.Command {
	var f consoleFlags
	cmd := &cobra.Command{
		Use:         "console",
		GroupID:     app.Operate,
		Annotations: app.Info{Role: access.Console}.Annotations(),
		Short:       "Serve the web console",
		Long: "Serves a web page that shows runs and what they wait for, live loss and metrics, studies, the lineage of models,\n" +
			"pipelines and dead letters. `stoker up` serves it too.\n\n" +
			"It listens on loopback, where processes of the same user can read without a token (on Linux; other systems don't report the owner of a\n" +
			"connection). Other users of the machine, clients behind a proxy, and all clients at another address\n" +
			"(--console-listen 0.0.0.0:8790) need the token to read, unless --open is given. Every browser needs it to retry, pause and cancel. It comes from " + consoleTokenEnv + " or from\n" +
			"--token-file; otherwise a new token is printed. Beyond loopback, set --host to the name that browsers use for the console and\n" +
			"put a TLS proxy in front that sends X-Forwarded-Proto.\n\n" +
			"Entering the token starts a session. It ends when the user leaves, after 12 hours without a request, after 7 days, and\n" +
			"when the console stops. A new token in --token-file takes effect within seconds and ends all sessions.\n\n" +
			"/healthz and /readyz need no token, for probes; /metrics, in Prometheus's format, is served to readers and to clients that send the\n" +
			"token as `Authorization: Bearer`. STOKER_LISTEN is an address that serves only these three.",
		Example: "  stoker console\n" +
			"  stoker console --console-listen 0.0.0.0:8790 --host stoker.example.org --token-file token",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, made, err := f.token()
			if err != nil {
				return err
			}
			if err := app.Address(consoleListen, f.listen, ""); err != nil {
				return err
			}
			listener, err := net.Listen("tcp", f.listen)
			if err != nil {
				return app.InUse(consoleListen, f.listen, "give another address, 127.0.0.1:0 for a free port", err)
			}
			defer listener.Close()
			readers := readers(listener.Addr(), f.open)
			if readers == console.TokenHolders && token == "" {
				return exit.Usage(errors.New("--read-only: nobody could read: add --open to let all clients read, or leave out --read-only"))
			}
			return operated{app: a, what: "console", page: true}.run(cmd.Context(), func(ctx context.Context, o *operated) error {
				return a.WithLink(ctx, func(ctx context.Context, l app.Link) error {
					opts := consoleOptions(a, l)
					opts.Token, opts.Hosts, opts.Readers = token, f.hosts, readers
					fmt.Fprintf(a.Notes(), "console: http://%s/\n", listener.Addr())
					if made {
						fmt.Fprintf(a.Stderr, "  token      %s (new; set %s or --token-file to keep one)\n", token, consoleTokenEnv)
					}
					return o.console(ctx, l, listener, opts, f.renewed)
				})
			})
		},
	}
	cmd.Flags().StringVar(&f.listen, consoleListen, DefaultConsole, "address of the console")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "file with the token; default: "+consoleTokenEnv+", else a new token")
	cmd.Flags().StringSliceVar(&f.hosts, "host", nil, "name that browsers use for it, in addition to loopback")
	cmd.Flags().BoolVar(&f.readOnly, "read-only", false, "accept no token, so that nobody can retry, pause or cancel")
	cmd.Flags().BoolVar(&f.open, "open", false, "let all clients read without the token")
	app.SetElsewhere(cmd, consoleListen, settings.ConsoleListen)
	app.SetElsewhere(cmd, "host", settings.ConsoleHosts)
	return cmd
}

// minToken is the minimum length of a token chosen by people.
const minToken = 12

// renewed returns the current token: a new one in the token's file replaces the first. "" if it
// can't change.
func (f consoleFlags) renewed() (string, error) {
	if f.readOnly || f.tokenFile == "" {
		return "", nil
	}
	token, _, err := f.token()
	return token, err
}

// token returns the token to require; "" for none. made reports whether it was generated now.
func (f consoleFlags) token() (token string, made bool, err error) {
	if f.readOnly {
		return "", false, nil
	}
	token = os.Getenv(consoleTokenEnv)
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return "", false, exit.Usage(fmt.Errorf("--token-file: %w", err))
		}
		token = strings.TrimSpace(string(text))
	}
	switch {
	case token == "" && f.tokenFile == "":
		return console.NewToken(), true, nil
	case len(token) < minToken:
		return "", false, exit.Usage(fmt.Errorf("%s: a token of %d characters: expected %d or more", cmp.Or(f.tokenFile, consoleTokenEnv), len(token), minToken))
	}
	return token, false, nil
}

func consoleOptions(a *app.App, l app.Link) console.Options {
	opts := console.Options{Bus: l.Bus, Store: l.Store, Root: l.Root, Command: app.Invocation(a.Self), Logger: a.Logger()}
	if a.DataDir != app.DefaultDataDir() {
		opts.Flags = "--data " + app.Quoted(a.DataDir)
	}
	return opts
}

// console serves the page and the probes. It needs the bus; without the store, most of the page
// works.
func (o *operated) console(ctx context.Context, l app.Link, listener net.Listener, opts console.Options, renewed func() (string, error)) error {
	needs := asOnlooker(l.Bus.EventLag, dispatch.Reader)
	opts.Probes = o.probes(ctx, needs)
	return o.while(ctx, needs, func(ctx context.Context) error { return serveConsole(ctx, listener, opts, renewed) })
}

// serveConsole serves a console, and gives it a new token when renewed returns another one. An
// error of renewed leaves the token unchanged.
func serveConsole(ctx context.Context, listener net.Listener, opts console.Options, renewed func() (string, error)) error {
	c, err := console.New(opts)
	if err != nil {
		return err
	}
	serving, ctx := errgroup.WithContext(ctx)
	serving.Go(func() error { return c.Serve(ctx, listener) })
	serving.Go(func() error {
		renewToken(ctx, c, opts, renewed)
		return nil
	})
	return serving.Wait()
}

// renewTime is how often a token's file is read again.
const renewTime = 2 * time.Second

func renewToken(ctx context.Context, c *console.Console, opts console.Options, renewed func() (string, error)) {
	token, failed := opts.Token, false
	for tick := time.NewTicker(renewTime); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		read, err := renewed()
		if err != nil && !failed {
			opts.Logger.WarnContext(ctx, "console token not reloaded; the previous one stays in use", "error", err)
		}
		if failed = err != nil; failed || read == "" || read == token {
			continue
		}
		token = read
		c.SetToken(token)
		opts.Logger.WarnContext(ctx, "console has a new token; all sessions have ended")
	}
}

func isLoopback(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
