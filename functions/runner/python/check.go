package python

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed check.py
var checkScript string

// Checked is the result of importing the packages of an environment.
type Checked struct {
	Interpreter string    `json:"interpreter"`
	Python      string    `json:"python"`
	Packages    []Package `json:"packages"`
	GPUs        int       `json:"gpus"` // number of GPUs that TensorFlow sees
}

// Package is one of the packages that TFX module files import.
type Package struct {
	Package string `json:"package"`
	Version string `json:"version,omitempty"`
	Problem string `json:"problem,omitempty"` // "" if it can be imported
	Add     string `json:"add,omitempty"`     // the command that installs it, if it is missing
}

// Usable returns an error if no TFX module can run. Other packages may have problems: modules that
// don't need them run.
func (c Checked) Usable() error {
	for _, p := range c.Packages {
		if p.Package == "tensorflow" && p.Problem != "" {
			return fmt.Errorf("no TFX module runs with %s: tensorflow: %s", c.Interpreter, p.Problem)
		}
	}
	return nil
}

// checkTimeout is for a busy machine: importing everything takes 10 CPU-seconds.
const checkTimeout = 10 * time.Minute

// Check imports the packages of an environment, which Find does not: a package may be installed and
// broken.
func Check(ctx context.Context, e Environment) (Checked, error) {
	lacks := e.Lacks()
	checked := Checked{Interpreter: e.Interpreter, Python: e.Version}
	var there []dependency
	for _, w := range wanted() {
		switch {
		case slices.Contains(e.modules, w.Module):
			there = append(there, w)
		case slices.Contains(lacks, w.Package):
			missing := Package{Package: w.Package, Problem: "missing", Add: e.toAdd([]string{w.Package})}
			checked.Packages = append(checked.Packages, missing)
		}
	}
	answers, end, err := importAll(ctx, e, there)
	if err != nil {
		return Checked{}, fmt.Errorf("import the packages of Python %s: %w", e.Interpreter, err)
	}
	checked.GPUs = answers.gpus
	for i, w := range there {
		p := Package{Package: w.Package, Problem: "not tried: the import of the package before it ended the process"}
		switch {
		case i < len(answers.packages):
			p = answers.packages[i]
		case i == len(answers.packages):
			p.Problem = fmt.Sprint("its import ended the process: ", end)
		}
		checked.Packages = append(checked.Packages, p)
	}
	return checked.sorted(), nil
}

// sorted returns the packages in the order of wanted.
func (c Checked) sorted() Checked {
	place := func(p Package) int {
		return slices.IndexFunc(wanted(), func(w dependency) bool { return w.Package == p.Package })
	}
	slices.SortStableFunc(c.Packages, func(a, b Package) int { return place(a) - place(b) })
	return c
}

// imported is the output of check.py, which may have ended before its last line.
type imported struct {
	packages []Package
	gpus     int
}

// importAll imports the packages in one process. end describes how the process ended, if it did not
// succeed.
func importAll(ctx context.Context, e Environment, modules []dependency) (said imported, end, err error) {
	names, err := json.Marshal(modules)
	if err != nil {
		return imported{}, nil, err
	}
	out, end := run(ctx, e.by, checkTimeout, e.Interpreter, "-I", "-c", checkScript, string(names))
	if ctx.Err() != nil {
		return imported{}, nil, end
	}
	for line := range bytes.Lines(out) {
		var answer struct {
			Package
			GPUs *int `json:"gpus"`
		}
		switch err := json.Unmarshal(line, &answer); {
		case err != nil:
			return imported{}, nil, fmt.Errorf("its output is %.100q: %w", line, err)
		case answer.GPUs != nil:
			said.gpus = *answer.GPUs
		default:
			answer.Problem = strings.Join(strings.Fields(answer.Problem), " ")
			said.packages = append(said.packages, answer.Package)
		}
	}
	return said, end, nil
}
