package python

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

//go:embed probe.py
var probeScript string

// probed is what an interpreter reports of itself.
type probed struct {
	Interpreter string            `json:"interpreter"`
	Version     string            `json:"version"`
	Packages    map[string]string `json:"packages"`
	Modules     []string          `json:"modules"` // modules of wanted that can be found
	Sites       []string          `json:"sites"`   // the directories that packages are in
	// The files and directories that change when any of this does.
	Watched []string `json:"watched"`
}

// Limits of an interpreter's answer, because a path may name anything.
const (
	probeTimeout  = 2 * time.Minute // for a busy machine with a cold disk
	maxProbeBytes = 8 << 20
)

// probe asks an interpreter which packages it has. It imports none of them.
func probe(ctx context.Context, by Runner, interpreter string) (probed, error) {
	names, err := json.Marshal(wanted())
	if err != nil {
		return probed{}, err
	}
	var p probed
	if err := ask(ctx, by, &p, interpreter, "-I", "-c", probeScript, string(names)); err != nil {
		return probed{}, fmt.Errorf("list the packages of Python %s: %w", interpreter, err)
	}
	return p, nil
}

// ask runs a script that prints JSON.
func ask(ctx context.Context, by Runner, answer any, interpreter string, args ...string) error {
	out, err := run(ctx, by, probeTimeout, interpreter, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, answer); err != nil {
		return fmt.Errorf("its output is %.100q: %w", out, err)
	}
	return nil
}

// run returns the output of an interpreter, even if it fails.
func run(ctx context.Context, by Runner, timeout time.Duration, interpreter string, args ...string) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, said := &capped{end: cancel}, &tail{}
	cmd := exec.CommandContext(bounded, interpreter, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = probeEnv(os.Environ()), out, said, time.Second
	err := by.run(cmd, Needs{})
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no answer for %s", timeout)
	case out.over:
		err = fmt.Errorf("its output is longer than %d bytes", maxProbeBytes)
	case err != nil:
		err = fmt.Errorf("%w%s", err, said.after(": "))
	}
	return out.text, err
}

// environment returns the part of it that others see.
func (p probed) environment(by Runner) (Environment, error) {
	text, err := json.Marshal([]any{p.Version, p.Packages})
	if err != nil {
		return Environment{}, err
	}
	sum := sha256.Sum256(text)
	return Environment{
		Interpreter: p.Interpreter, Version: p.Version, Packages: p.Packages, Digest: "sha256:" + hex.EncodeToString(sum[:]),
		modules: p.Modules, sites: p.Sites, by: by,
	}, nil
}

// probeEnv returns the part of the worker's environment, which holds credentials, that a process
// gets which a pipeline may have named.
func probeEnv(environ []string) []string {
	return keep(environ, "PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT", "PYENV_")
}

// installEnv returns the part that an installer also gets: how to reach a package registry.
func installEnv(environ []string) []string {
	return append(probeEnv(environ), keep(environ, "PIP_", "UV_", "XDG_", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")...)
}

// keep returns the pairs with these names; a name that ends in an underscore stands for all names
// that begin with it.
func keep(environ []string, names ...string) []string {
	var kept []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		for _, n := range names {
			if name == n || strings.HasSuffix(n, "_") && strings.HasPrefix(name, n) {
				kept = append(kept, pair)
				break
			}
		}
	}
	return kept
}

// capped keeps a program's output, and ends the program if it prints too much.
type capped struct {
	text []byte
	over bool // it printed more
	end  context.CancelFunc
}

func (c *capped) Write(text []byte) (int, error) {
	if len(c.text)+len(text) > maxProbeBytes {
		c.over = true
		c.end()
		return 0, io.ErrShortWrite
	}
	c.text = append(c.text, text...)
	return len(text), nil
}
