package quality

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
)

//go:embed testdata
var recordings embed.FS

// Directories of recordings, below testdata.
const (
	OfFunctions = "functions" // runs on Known and on a real model
	OfProblems  = "problems"  // runs on List
)

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
	HEBO          = "hebo"
	SMAC          = "smac"
	KerasRandom   = "keras-random"
	KerasBayesian = "keras-bayesian"
)

// Recorded returns the peers' runs that are kept in a directory of recordings, by sampler.
func Recorded(of string) (map[string]Recording, error) {
	kept, err := fs.Sub(recordings, path.Join("testdata", of))
	if err != nil {
		return nil, err
	}
	return ReadRecordings(kept, "*.jsonl")
}

// ReadRecordings reads the files that match a pattern, by sampler.
func ReadRecordings(dir fs.FS, pattern string) (map[string]Recording, error) {
	files, err := fs.Glob(dir, pattern)
	if err != nil {
		return nil, err
	}
	all := map[string]Recording{}
	for _, name := range files {
		recording, err := readFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("recording %s: %w", name, err)
		}
		// A sampler may have several files.
		recording.Runs = append(all[recording.Sampler].Runs, recording.Runs...)
		all[recording.Sampler] = recording
	}
	return all, nil
}

func readFile(dir fs.FS, name string) (Recording, error) {
	file, err := dir.Open(name)
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

// Recorder runs samplers of peers and records their progress in the directory Out, a file a
// sampler, as in testdata. Runs that are recorded already are not run again.
type Recorder struct {
	Out      string
	Samplers []string
	Peers    Peers
	Keras    string                       // interpreter with KerasTuner and scikit-learn
	Serve    func(function string) string // command that serves a function, quoted as for a shell
	Seeds    int
	Trials   int
	Log      io.Writer
}

// Record runs every sampler on functions. It takes CPU hours.
func (r Recorder) Record(ctx context.Context, functions []string) error {
	scripts, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scripts)
	if err := errors.Join(os.CopyFS(scripts, recorder), os.MkdirAll(r.Out, 0o755)); err != nil {
		return err
	}
	for _, sampler := range r.Samplers {
		if err := r.record(ctx, filepath.Join(scripts, "record.py"), sampler, functions); err != nil {
			return fmt.Errorf("record %s: %w", sampler, err)
		}
	}
	return nil
}

func (r Recorder) record(ctx context.Context, script, sampler string, functions []string) error {
	python := r.Peers.Python
	if sampler == KerasBayesian || sampler == KerasRandom {
		python = r.Keras
	}
	out := filepath.Join(r.Out, sampler+".jsonl")
	args := []string{script, sampler, out, strconv.Itoa(r.Trials), "1", strconv.Itoa(r.Seeds)}
	for _, f := range functions {
		args = append(args, f+"="+r.Serve(f))
	}
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=ignore")
	cmd.Stdout, cmd.Stderr = r.Log, r.Log
	return cmd.Run()
}
