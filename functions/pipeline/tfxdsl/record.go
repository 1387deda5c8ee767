package tfxdsl

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed record.py
var recordScript string

const (
	maxRecorded = 16 << 20 // bytes of JSON
	maxPrinted  = 64 << 10 // bytes that the file prints, of which the last are reported
)

// Options configure the run of a file.
type Options struct {
	Python  string        // the interpreter
	Timeout time.Duration // for the whole file
	// Runs a command to its end in a sandbox, keeps its HOME, and sets TMPDIR to a folder for it.
	Run func(*exec.Cmd) error
}

// Recorded is the list of calls of a file to tfx.
type Recorded struct {
	Isolated bool   `json:"isolated"` // it ran without a network
	Calls    []call `json:"calls"`

	path   string
	failed *failure
}

type failure struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
	Syntax  bool   `json:"syntax"`
}

// call is one call of something in a stubbed package.
type call struct {
	Name   string         `json:"name"` // dotted, without import aliases
	Line   int            `json:"line"`
	Args   []any          `json:"args"`
	Kwargs map[string]any `json:"kwargs"`
	// Temporary files and folders in its arguments that the file made, and that have been removed.
	Gone []string `json:"gone"`
}

// base returns the last part of the name.
func (c call) base() string { return c.Name[strings.LastIndex(c.Name, ".")+1:] }

// Error is an error at a line of a file.
type Error struct {
	File string
	Line int // 0 for none
	Err  error
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Record runs a file. An error of the file itself is an *Error with its line.
func Record(ctx context.Context, path string, o Options) (*Recorded, error) {
	full, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(full)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.Python, "-I", "-B", "-c", recordScript, full, filepath.Dir(full), fmt.Sprint(int(o.Timeout.Seconds())+1),
		os.Getenv("TMPDIR"))
	out, printed := &tail{most: maxRecorded, all: true}, &tail{most: maxPrinted}
	cmd.Stdout, cmd.Stderr = out, printed
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	if home, err := os.UserHomeDir(); err == nil {
		cmd.Env = append(cmd.Env, "HOME="+home) // module files are often named relative to it
	}
	cmd.WaitDelay = 5 * time.Second // processes that it left running may hold the pipes
	err = o.Run(cmd)
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return nil, &Error{File: path, Err: fmt.Errorf("not done after %s: does it contain an endless loop?", o.Timeout)}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case out.cut:
		return nil, &Error{File: path, Err: fmt.Errorf("its calls of tfx take more than %d MiB", maxRecorded>>20)}
	case err != nil:
		return nil, &Error{File: path, Err: fmt.Errorf("run with %s: %w: %s", o.Python, err, printed.last())}
	}
	r := &Recorded{path: path}
	said := struct {
		*Recorded
		Failed *failure `json:"failed"`
	}{Recorded: r}
	decoder := json.NewDecoder(&out.kept)
	decoder.UseNumber() // keeps integers
	if err := decoder.Decode(&said); err != nil {
		return nil, &Error{File: path, Err: fmt.Errorf("the recorded calls could not be read: %w", err)}
	}
	// A pipeline that was composed before something else failed, like a runner, is returned.
	if r.failed = said.Failed; r.failed != nil && (r.failed.Syntax || len(r.find("Trainer"))+len(r.find("Tuner")) == 0) {
		return nil, &Error{File: path, Line: r.failed.Line, Err: errors.New(r.failed.Message)}
	}
	return r, nil
}

var errTimeout = errors.New("timeout")

// find returns the calls of a component.
func (r *Recorded) find(base string) (found []call) {
	for _, c := range r.Calls {
		if c.base() == base && strings.HasPrefix(c.Name, "tfx.") {
			found = append(found, c)
		}
	}
	return found
}

// tail keeps the first or the last bytes of what is written.
type tail struct {
	kept bytes.Buffer // not embedded: its ReadFrom has no bound
	most int
	all  bool // the first: later bytes are dropped
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	if t.all && t.kept.Len()+len(p) > t.most {
		t.cut = true
		return len(p), nil
	}
	t.kept.Write(p)
	if t.kept.Len() > t.most {
		t.kept.Next(t.kept.Len() - t.most)
	}
	return len(p), nil
}

// last returns the last line.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(t.kept.String()), "\n")
	return lines[len(lines)-1]
}
