package quality

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

//go:embed record*.py
var recorder embed.FS

//go:embed requirements.txt
var requirements []byte

// Recorder runs peers' samplers and keeps how far they come, in the folder Out: a file a sampler,
// as testdata has them. Runs that are there already are not run again.
type Recorder struct {
	Out    string
	Optuna string                       // interpreter with what requirements.txt has; see OptunaPython
	Keras  string                       // interpreter with KerasTuner and scikit-learn
	Serve  func(function string) string // command that serves a function, for a shell's rules of words
	Seeds  int
	Trials int
	Log    io.Writer
}

// Record runs every sampler on some functions. It takes CPU hours.
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

// OptunaPython is the interpreter of an environment with Optuna, which is made once, below cache,
// with a Python 3.10.
func OptunaPython(ctx context.Context, cache, python310 string, log io.Writer) (interpreter string, err error) {
	digest := sha256.Sum256(requirements)
	dir := filepath.Join(cache, fmt.Sprintf("optuna-%x", digest[:8]))
	interpreter, whole := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "whole")
	if _, err := os.Stat(whole); err == nil {
		return interpreter, nil
	}
	fmt.Fprintln(log, "making an environment with Optuna in", dir, "once: 2 GB")
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
		return "", fmt.Errorf("make an environment with Optuna by %s, which has to be Python 3.10: %w", python310, err)
	}
	return interpreter, os.WriteFile(whole, nil, 0o644)
}
