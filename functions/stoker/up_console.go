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
	"github.com/stoker-ml/stoker/functions/stoker/stack"
)

// noConsole is the word for --console.
const noConsole = "off"

// withConsole runs a console beside do, unless it is off. Its token stays with the data. Another one in its file takes its place while the
// console runs, and a file that was removed is made again with a new one.
func (a *app) withConsole(ctx context.Context, address string, stack *stack.Stack, probes http.Handler, do func(ctx context.Context, url, token string) error) error {
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
	opts := a.consoleOptions(link{box: stack.Bus, store: stack.Store, root: stack.Root})
	opts.Token, opts.Readers, opts.Probes = token, readers(listener.Addr(), false), probes
	running, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() error {
		return serveConsole(ctx, listener, opts, func() (string, error) { return renewedToken(a.dataDir) })
	})
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

// tokenFile is the file with the console's token in a data folder.
func tokenFile(dataDir string) string { return filepath.Join(dataDir, "console.token") }

// renewedToken is the token for now of a console that runs. A file that holds no token may still be being written: it is left as it is.
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

// keptToken is the console's token of a data folder, made the first time.
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
