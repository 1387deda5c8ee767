package quality

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
)

//go:embed testdata/*.jsonl
var recordings embed.FS

// Recording is a file of record.py: the runs of one sampler.
type Recording struct {
	Sampler  string            `json:"sampler"`
	About    string            `json:"about"`
	Versions map[string]string `json:"versions"`
	Runs     []Run             `json:"-"`
}

// Samplers of peers, as record.py names them.
const (
	OptunaRandom  = "optuna-random"
	OptunaTPE     = "optuna-tpe"
	OptunaGP      = "optuna-gp"
	KerasRandom   = "keras-random"
	KerasBayesian = "keras-bayesian"
)

// Recorded returns the peers' runs, by sampler.
func Recorded() (map[string]Recording, error) {
	files, err := recordings.ReadDir("testdata")
	if err != nil {
		return nil, err
	}
	all := map[string]Recording{}
	for _, file := range files {
		recording, err := open(path.Join("testdata", file.Name()))
		if err != nil {
			return nil, fmt.Errorf("recording %s: %w", file.Name(), err)
		}
		all[recording.Sampler] = recording
	}
	return all, nil
}

func open(name string) (Recording, error) {
	file, err := recordings.Open(name)
	if err != nil {
		return Recording{}, err
	}
	defer file.Close()
	return read(file)
}

// read reads a header and one run a line.
func read(from io.Reader) (r Recording, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, longestLineBytes)
	for number := 1; lines.Scan(); number++ {
		if number == 1 {
			err = json.Unmarshal(lines.Bytes(), &r)
		} else {
			var run Run
			err = json.Unmarshal(lines.Bytes(), &run)
			r.Runs = append(r.Runs, run)
		}
		if err != nil {
			return r, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return r, lines.Err()
}

// After returns the best values of a function after so many trials, one for each run that had as
// many.
func After(runs []Run, function string, trials int) (best []float64) {
	for _, r := range runs {
		if r.Function == function && r.Trials >= trials {
			best = append(best, r.After(trials))
		}
	}
	return best
}

//go:embed record*.py
var recorder embed.FS

//go:embed requirements.txt
var requirements []byte

// Recorder runs the samplers of peers and records their progress in the directory Out, a file a
// sampler, as in testdata. Runs that are recorded already are not run again.
type Recorder struct {
	Out string
	// Interpreter with the packages of requirements.txt; see OptunaPython.
	Optuna string
	Keras  string                       // interpreter with KerasTuner and scikit-learn
	Serve  func(function string) string // command that serves a function, quoted as for a shell
	Seeds  int
	Trials int
	Log    io.Writer
}

// Record runs every sampler on functions. It takes CPU hours.
func (r Recorder) Record(ctx context.Context, functions []Function) error {
	scripts, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scripts)
	if err := os.CopyFS(scripts, recorder); err != nil {
		return err
	}
	for _, sampler := range []string{OptunaTPE, OptunaGP, KerasBayesian, OptunaRandom, KerasRandom} {
		if err := r.record(ctx, filepath.Join(scripts, "record.py"), sampler, functions); err != nil {
			return fmt.Errorf("record %s: %w", sampler, err)
		}
	}
	return nil
}

func (r Recorder) record(ctx context.Context, script, sampler string, functions []Function) error {
	python := r.Keras
	if sampler == OptunaTPE || sampler == OptunaGP || sampler == OptunaRandom {
		python = r.Optuna
	}
	out := filepath.Join(r.Out, sampler+".jsonl")
	args := []string{script, sampler, out, strconv.Itoa(r.Trials), "1", strconv.Itoa(r.Seeds)}
	for _, f := range functions {
		args = append(args, f.Name+"="+r.Serve(f.Name))
	}
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=ignore")
	cmd.Stdout, cmd.Stderr = r.Log, r.Log
	return cmd.Run()
}

// OptunaPython returns the interpreter of an environment with Optuna. The environment is created
// once, below cache, with a Python 3.10.
func OptunaPython(ctx context.Context, cache, python310 string, log io.Writer) (interpreter string, err error) {
	digest := sha256.Sum256(requirements)
	dir := filepath.Join(cache, fmt.Sprintf("optuna-%x", digest[:8]))
	interpreter, complete := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return interpreter, nil
	}
	fmt.Fprintln(log, "creating an environment with Optuna in", dir, "(once, 2 GB)")
	list := filepath.Join(dir, "requirements.txt")
	err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), os.WriteFile(list, requirements, 0o644))
	for _, command := range [][]string{
		{python310, "-m", "venv", dir},
		{interpreter, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "-r", list},
	} {
		if err == nil {
			cmd := exec.CommandContext(ctx, command[0], command[1:]...)
			cmd.Stdout, cmd.Stderr = log, log
			err = cmd.Run()
		}
	}
	if err != nil {
		return "", fmt.Errorf("create an environment with Optuna by %s, which has to be Python 3.10: %w", python310, err)
	}
	return interpreter, os.WriteFile(complete, nil, 0o644)
}
