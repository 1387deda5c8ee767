package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/bridge/endpoint"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// bridgeTokenEnv is the environment variable with the token of the HTTP endpoint.
const bridgeTokenEnv = "STOKER_BRIDGE_TOKEN"

// endpointFlags are the flags of `stoker bridge` for events over HTTP.
type endpointFlags struct {
	address, tokenFile string
	tls                endpoint.TLS
	pipelines          []string
}

func (f *endpointFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.address, "http", "", "host:port where it takes CloudEvents over HTTP, instead of markers")
	flags.StringVar(&f.tokenFile, "http-token-file", "", "file with the bearer token of requests; default: "+bridgeTokenEnv)
	flags.StringVar(&f.tls.Cert, "http-cert", "", "file with the certificate of the endpoint, in PEM")
	flags.StringVar(&f.tls.Key, "http-key", "", "file with its key")
	flags.StringVar(&f.tls.ClientCA, "http-client-ca", "", "file with the certificates that sign those of clients (mTLS)")
	flags.StringSliceVar(&f.pipelines, "http-pipeline", nil, "pipeline that events may be for (default any)")
}

// check refuses flags that don't go together.
func (f *endpointFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	for _, name := range []string{"http-token-file", "http-cert", "http-key", "http-client-ca", "http-pipeline"} {
		if changed(name) && f.address == "" {
			return exit.Usage(fmt.Errorf("--%s: nothing without --http", name))
		}
	}
	for _, name := range []string{"marker", "pipeline", "allow"} {
		if changed(name) && f.address != "" {
			return exit.Usage(fmt.Errorf("--%s is about markers, and with --http there are none: run a bridge for each", name))
		}
	}
	if f.tls.ClientCA != "" && f.tls.Cert == "" {
		return exit.Usage(errors.New("--http-client-ca: clients show certificates over TLS alone: give --http-cert and --http-key"))
	}
	return together(cmd, "http-cert", "http-key")
}

// token returns what requests must have, or nil if there is no token.
func (f *endpointFlags) token(logger *slog.Logger) (func() string, error) {
	if f.tokenFile == "" {
		token := strings.TrimSpace(os.Getenv(bridgeTokenEnv))
		if token == "" {
			return nil, nil
		}
		return func() string { return token }, checkBridgeToken(token, bridgeTokenEnv)
	}
	file := &fileToken{name: f.tokenFile, logger: logger}
	if err := file.reread(); err != nil {
		return nil, exit.Usage(fmt.Errorf("--http-token-file: %w", err))
	}
	return file.get, nil
}

func checkBridgeToken(token, from string) error {
	const least = 16
	if len(token) < least {
		return exit.Usage(fmt.Errorf("%s: a token of %d characters: expected %d or more", from, len(token), least))
	}
	return nil
}

// fileToken is a token in a file, which may be replaced.
type fileToken struct {
	name   string
	logger *slog.Logger

	mu    sync.Mutex
	token string
	read  time.Time
}

// get is the token for now. If the file can't be read any more, the token of before stays.
func (f *fileToken) get() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.read) >= renewTime {
		if err := f.reread(); err != nil {
			f.logger.Warn("token not read again; the one before stays", "error", err)
		}
	}
	return f.token
}

func (f *fileToken) reread() error {
	f.read = time.Now()
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	token := strings.TrimSpace(string(text))
	if err := checkBridgeToken(token, f.name); err != nil {
		return err
	}
	f.token = token
	return nil
}

// serveEvents runs the endpoint. It refuses to listen beyond this machine without authentication.
func (a *app) serveEvents(ctx context.Context, f endpointFlags, listen string) error {
	opts := endpoint.Options{Pipelines: f.pipelines, Certificates: f.tls.ClientCA != "", Logger: a.logger()}
	if _, err := endpoint.New(nil, opts); err != nil {
		return exit.Usage(fmt.Errorf("--http-pipeline: %w", err))
	}
	var err error
	if opts.Token, err = f.token(opts.Logger); err != nil {
		return err
	}
	var config *tls.Config
	if f.tls.Cert != "" {
		if config, err = f.tls.Config(opts.Logger); err != nil {
			return exit.Usage(fmt.Errorf("--http-cert: %w", err))
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.address)
	if err != nil {
		return exit.Usage(fmt.Errorf("--http %s: %w", f.address, err))
	}
	defer listener.Close()
	if !isLoopback(listener.Addr()) && opts.Token == nil && !opts.Certificates {
		return exit.Usage(fmt.Errorf("--http %s: whoever reaches this address could start training: set a token (%s or --http-token-file), "+
			"or ask for certificates (--http-client-ca)", f.address, bridgeTokenEnv))
	}
	return a.operate(ctx, "bridge", listen, func(ctx context.Context, o *operated) error {
		return a.withBox(ctx, func(ctx context.Context, box *jetstream.Letterbox) error {
			e, err := endpoint.New(o.Letterbox(box), opts)
			if err != nil {
				return err
			}
			a.sayEndpoint(listener.Addr(), config != nil, opts)
			needs := asks{needs: map[string]telemetry.Need{"bus": box.MayLookAtFacts}}
			return o.while(ctx, needs, func(ctx context.Context) error { return e.Serve(ctx, listener, config) })
		})
	})
}

// sayEndpoint says where events are taken, and from whom.
func (a *app) sayEndpoint(at net.Addr, secure bool, opts endpoint.Options) {
	scheme, from := "http", "anybody on this machine"
	if secure {
		scheme = "https"
	}
	switch {
	case opts.Token != nil && opts.Certificates:
		from = "clients with the token and a certificate"
	case opts.Token != nil:
		from = "clients with the token"
	case opts.Certificates:
		from = "clients with a certificate"
	}
	pipelines := cmp.Or(strings.Join(opts.Pipelines, ", "), "any pipeline")
	a.sayStarted("bridge", fmt.Sprintf("events at %s://%s/ from %s for %s", scheme, at, from, pipelines))
	if !secure && opts.Token != nil && !isLoopback(at) {
		fmt.Fprintln(a.notes(), "the token is sent in clear: give --http-cert and --http-key, or put TLS before it")
	}
}
