package python

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Environment is an interpreter with what modules import.
type Environment struct {
	Interpreter string            `json:"interpreter"` // absolute path
	Version     string            `json:"version"`     // of Python: 3.11.7
	Packages    map[string]string `json:"packages"`    // name to version, of all that is installed
	Digest      string            `json:"digest"`      // sha256:<hex> of version and packages: the same digest, the same results
}

// Options of Find.
type Options struct {
	Named        string   // interpreter, or folder of an environment, that the pipeline names; "": Default
	Default      string   // the one of STOKER_PYTHON; "": the one that Setup made
	Requirements []string // that must be there too; where they are not, an environment with them is made once, below CacheDir
	CacheDir     string
}

// ErrNone says that there is no environment, and how to get one.
var ErrNone = errors.New("no Python with TensorFlow: run `stoker python setup`, or set STOKER_PYTHON to an interpreter that has it")

// Find returns the environment to use. What is missing in it is said in one line.
func Find(ctx context.Context, opts Options) (Environment, error) {
	interpreter := opts.Named
	if interpreter == "" {
		interpreter = opts.Default
	}
	if interpreter == "" {
		return Environment{}, ErrNone
	}
	return probe(ctx, interpreter)
}

const probeScript = `import json, sys
from importlib import metadata
print(json.dumps({"interpreter": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3],
  "packages": {d.metadata["Name"].lower(): d.version for d in metadata.distributions()}}))`

func probe(ctx context.Context, interpreter string) (Environment, error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, interpreter, "-I", "-c", probeScript)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return Environment{}, fmt.Errorf("ask %s what it has: %w: %s", interpreter, err, strings.TrimSpace(said.String()))
	}
	var e Environment
	if err := json.Unmarshal(out, &e); err != nil {
		return Environment{}, fmt.Errorf("ask %s what it has: %w", interpreter, err)
	}
	text, err := json.Marshal([]any{e.Version, e.Packages})
	if err != nil {
		return Environment{}, err
	}
	sum := sha256.Sum256(text)
	e.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return e, nil
}
