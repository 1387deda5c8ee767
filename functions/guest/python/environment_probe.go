package python

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

//go:embed probe.py
var probeScript string

// probed is what an interpreter says of itself.
type probed struct {
	Interpreter string            `json:"interpreter"`
	Version     string            `json:"version"`
	Packages    map[string]string `json:"packages"`
	Modules     []string          `json:"modules"` // those of wanted that can be found
	Sites       []string          `json:"sites"`   // the folders that packages are in
	Watched     []string          `json:"watched"` // the files and folders that change when any of this does
}

// Patience and room for an interpreter's answer: a path may name anything.
const (
	probeTimeout  = 2 * time.Minute
	maxProbeBytes = 8 << 20
)

// probe asks an interpreter what it has. It imports none of it.
func probe(ctx context.Context, interpreter string) (probed, error) {
	bounded, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	names, err := json.Marshal(wanted())
	if err != nil {
		return probed{}, err
	}
	out, said := &capped{most: maxProbeBytes}, &tail{}
	cmd := exec.CommandContext(bounded, interpreter, "-I", "-c", probeScript, string(names))
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = probeEnv(os.Environ()), out, said, time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return probed{}, context.Cause(ctx)
		}
		return probed{}, fmt.Errorf("ask Python %s what it has: %w%s", interpreter, errors.Join(err, bounded.Err()), said.after(": "))
	}
	var p probed
	if err := json.Unmarshal(out.Bytes(), &p); err != nil {
		return probed{}, fmt.Errorf("ask Python %s what it has: it says %.100q: %w", interpreter, out.Bytes(), err)
	}
	return p, nil
}

// environment is what others see of it.
func (p probed) environment() (Environment, error) {
	text, err := json.Marshal([]any{p.Version, p.Packages})
	if err != nil {
		return Environment{}, err
	}
	sum := sha256.Sum256(text)
	return Environment{
		Interpreter: p.Interpreter, Version: p.Version, Packages: p.Packages, Digest: "sha256:" + hex.EncodeToString(sum[:]),
		modules: p.Modules, sites: p.Sites,
	}, nil
}

// probeEnv is what a process that a pipeline may have named gets of the worker's environment, which holds credentials.
func probeEnv(environ []string) []string {
	return keep(environ, "PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT", "PYENV_")
}

// installEnv is what an installer gets besides: the ways to a package registry.
func installEnv(environ []string) []string {
	return append(probeEnv(environ), keep(environ, "PIP_", "UV_", "XDG_", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")...)
}

// keep takes the pairs with these names, or with names that begin like those that end in an underscore.
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

// capped is a buffer that refuses more than it may hold.
type capped struct {
	bytes.Buffer
	most int
}

func (c *capped) Write(text []byte) (int, error) {
	if c.Len()+len(text) > c.most {
		return 0, fmt.Errorf("more than %d bytes", c.most)
	}
	return c.Buffer.Write(text)
}
