package python

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

//go:embed outline.py
var outlineScript string

// Outline is what a source file binds at its top level, as Python reads it.
type Outline struct {
	Names []Binding `json:"names"` // in the order of the file
	// It may bind other names too: by an import with a star, exec or the like.
	Open bool `json:"open"`
}

// Binding is a name at the top level of a source file.
type Binding struct {
	Name         string `json:"name"`
	Line, Column int    // from 1
	// A def without decorators, so that the fields below are known.
	Function  bool     `json:"function"`
	Coroutine bool     `json:"coroutine"` // an async def
	Least     int      `json:"least"`     // number of positional arguments that it needs
	Most      int      `json:"most"`      // number of those that it takes; -1: any
	Keywords  []string `json:"keywords"`  // arguments that it needs by name
	// The module that it is imported from, as the file names it; "" if it is not bound by from ...
	// import.
	From      string `json:"from"`
	Original  string `json:"original"`  // its name in that module
	Installed bool   `json:"installed"` // Python has a package of From's first name
}

// Binds returns what a name is bound to last; false if the file does not bind it.
func (o Outline) Binds(name string) (last Binding, bound bool) {
	for _, b := range o.Names {
		if b.Name == name {
			last, bound = b, true
		}
	}
	return last, bound
}

// SyntaxError is the position at which a source file is not valid Python.
type SyntaxError struct {
	File         string // as passed to ReadOutlines
	Line, Column int    // from 1
	Message      string
	Python       string // the version of Python that read it
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: SyntaxError: %s", e.File, e.Line, e.Column, e.Message)
}

// ReadOutlines reads source files as the environment's Python would, without running them. The
// error of the first invalid file is a *SyntaxError. Its time and output are limited, and it gets
// no credentials from the environment of this process.
func ReadOutlines(ctx context.Context, e Environment, files ...string) ([]Outline, error) {
	out, err := run(ctx, e.by, probeTimeout, e.Interpreter, append([]string{"-I", "-c", outlineScript}, files...)...)
	if err != nil {
		return nil, fmt.Errorf("run %s to parse %s: %w", e.Interpreter, strings.Join(files, ", "), err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(files) {
		return nil, fmt.Errorf("run %s to parse %s: its output is %.100q", e.Interpreter, strings.Join(files, ", "), out)
	}
	all := make([]Outline, len(files))
	for i, line := range lines {
		var said struct {
			Outline
			Error        string `json:"error"`
			Line, Column int
			Python       string `json:"python"`
		}
		if err := json.Unmarshal(line, &said); err != nil {
			return nil, fmt.Errorf("run %s to parse %s: its output is %.100q: %w", e.Interpreter, files[i], line, err)
		}
		if said.Error != "" {
			return nil, &SyntaxError{File: files[i], Line: said.Line, Column: said.Column, Message: oneLine(said.Error), Python: said.Python}
		}
		all[i] = said.Outline
	}
	return all, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// System returns the machine's own python3, only for ReadOutlines: its packages are not known.
func System() (Environment, error) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return Environment{}, fmt.Errorf("find python3: %w", err)
	}
	return Environment{Interpreter: interpreter}, nil
}
