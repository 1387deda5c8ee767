package python

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Environment is an interpreter with what modules import.
type Environment struct {
	Interpreter string            `json:"interpreter"` // absolute path
	Version     string            `json:"version"`     // of Python: 3.11.7
	Packages    map[string]string `json:"packages"`    // name as in PEP 503 to version, of all that is installed
	Digest      string            `json:"digest"`      // sha256:<hex> of version and packages: the same digest, the same results

	modules []string // those of wanted that can be found
	sites   []string // the folders that packages are in
	by      Runner
}

// Options of Find.
type Options struct {
	Named        string   // interpreter, or folder of an environment, that the pipeline names; "": Default
	Default      string   // the one of STOKER_PYTHON; "": the one that Make made last
	Requirements []string // that must be there too; where they are not, an environment with them is made once, below CacheDir
	CacheDir     string   // of what is known of interpreters, and of environments with requirements; "": neither is kept
	Home         string   // where Make makes environments; default: Home()
	By           Runner   // runs the interpreter, which a pipeline may name, and what installs requirements; nil: with the rights of this process
	Logger       *slog.Logger
}

// ErrNone says that there is no environment, and how to get one.
var ErrNone = errors.New("no Python with TensorFlow: run `stoker python setup`, or set STOKER_PYTHON to an interpreter that has it")

// Find returns the environment to use. What is missing in it is said in one line. It may lack what
// only some modules import: that is for them to find out, see Lacks.
//
// An interpreter is asked what it has once, and again when its packages have changed: with
// CacheDir, a second Find starts no process. Find may be called from several goroutines and
// processes at once.
func Find(ctx context.Context, opts Options) (Environment, error) {
	interpreter, err := choose(opts)
	if err != nil {
		return Environment{}, err
	}
	used(interpreter)
	e, err := known(ctx, opts.By, opts.CacheDir, interpreter)
	if err != nil {
		return Environment{}, err
	}
	if err := e.fit(); err != nil {
		return Environment{}, err
	}
	if len(opts.Requirements) == 0 {
		return e, nil
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return withRequirements(ctx, opts, e)
}

// Look is Find for an interpreter, or an environment's folder, that a person names. It may lack
// TensorFlow.
func Look(ctx context.Context, named string) (Environment, error) {
	interpreter, err := locate(named)
	if err != nil {
		return Environment{}, fmt.Errorf("%s: %w", named, err)
	}
	e, err := known(ctx, nil, "", interpreter)
	if err != nil {
		return Environment{}, err
	}
	return e, e.newEnough()
}

// choose says which interpreter is meant.
func choose(opts Options) (string, error) {
	switch {
	case opts.Named != "":
		interpreter, err := locate(opts.Named)
		if err != nil {
			return "", fmt.Errorf("module.python: %w", err)
		}
		return interpreter, nil
	case opts.Default != "":
		interpreter, err := locate(opts.Default)
		if err != nil {
			return "", fmt.Errorf("STOKER_PYTHON: %w", err)
		}
		return interpreter, nil
	}
	home, err := homeOr(opts.Home)
	if err != nil {
		return "", err
	}
	made, err := Default(home)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(made.Interpreter); err != nil { // a link
		return "", fmt.Errorf("the Python that %s was made with is gone: run `stoker python setup`: %w", made.Dir, err)
	}
	return made.Interpreter, nil
}

// locate finds the interpreter that a path or a name means, as an absolute path. Links are not
// followed: the interpreter of an environment is a link to one that is not.
func locate(named string) (string, error) {
	info, err := os.Stat(named)
	if err == nil && info.IsDir() {
		interpreter := interpreterIn(named)
		if _, err := os.Stat(interpreter); err != nil {
			return "", fmt.Errorf("%s is no Python environment: it has no %s", named, interpreterIn(""))
		}
		return filepath.Abs(interpreter)
	}
	path, err := exec.LookPath(named)
	if err != nil {
		return "", fmt.Errorf("no interpreter, and no environment's folder: %w", err)
	}
	return filepath.Abs(path)
}

// interpreterIn is where a venv has its interpreter.
func interpreterIn(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "Scripts", "python.exe")
	}
	return filepath.Join(dir, "bin", "python")
}

// Home is where Make makes environments for this user.
func Home() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for Python environments: %w", err)
	}
	return filepath.Join(cache, "stoker", "python"), nil
}

func homeOr(home string) (string, error) {
	if home != "" {
		return home, nil
	}
	fallback, err := Home()
	return cmp.Or(home, fallback), err
}
