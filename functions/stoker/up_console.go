package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/functions/console"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/local"
)

// noConsole is the word for --console.
const noConsole = "off"

// withConsole runs a console beside do, unless it is off. Its token stays with the data, so that a browser that was given it may go on.
func (a *app) withConsole(ctx context.Context, address string, stack *local.Stack, probes http.Handler, do func(ctx context.Context, url, token string) error) error {
	if address == noConsole {
		return do(ctx, "", "")
	}
	token, err := keptToken(a.dataDir)
	if err != nil {
		return err
	}
	listener, err := a.listenConsole(address)
	if err != nil {
		return err
	}
	opts := a.consoleOptions(link{box: stack.Box, store: stack.Store, root: stack.Root})
	opts.Token, opts.Private, opts.Probes = token, !isLoopback(listener.Addr()), probes
	running, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() error { return serveConsole(ctx, listener, opts) })
	running.Go(func() error { defer stop(); return do(ctx, "http://"+listener.Addr().String()+"/", token) })
	return running.Wait()
}

// listenConsole takes any port where the default one is taken: two stacks may run at once.
func (a *app) listenConsole(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil && address == defaultConsole {
		host, _, _ := net.SplitHostPort(address)
		listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--console %s: %w", address, err))
	}
	return listener, nil
}

// keptToken is the console's token of a data folder, made the first time.
func keptToken(dataDir string) (string, error) {
	name := filepath.Join(dataDir, "console.token")
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
