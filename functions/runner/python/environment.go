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

// Environment is an interpreter with the packages that modules import.
type Environment struct {
	Interpreter string `json:"interpreter"` // absolute path
	Version     string `json:"version"`     // the version of Python: 3.11.7
	// Version of each installed package, by its name as in PEP 503.
	Packages map[string]string `json:"packages"`
	// sha256:<hex> of version and packages: the same digest means the same results
	Digest string `json:"digest"`

	modules []string // modules of wanted that can be found
	sites   []string // the directories that packages are in
	by      Runner
}

// Options of Find.
type Options struct {
	// Interpreter, or directory of an environment, that the pipeline names; "": Default.
	Named   string
	Default string // the value of STOKER_PYTHON; "": the environment that Make made last
	// Packages to have in addition; if they are missing, an environment with them is made once,
	// below CacheDir.
	Requirements []string
	// Caches what interpreters have, and environments with requirements; "": neither is cached.
	CacheDir string
	Home     string // where Make makes environments; default: Home()
	// Runs the interpreter, which a pipeline may name, and the installer of requirements; nil: with
	// the rights of this process.
	By     Runner
	Logger *slog.Logger
}

// ErrNone reports that there is no environment, and how to get one.
var ErrNone = errors.New("no Python with TensorFlow: run `stoker python setup`, or set STOKER_PYTHON to an interpreter that has it")

// Find returns the environment to use. Its error describes what is missing in one line. The
// environment may lack packages that only some modules import; these modules fail on their own, see
// Lacks.
//
// An interpreter is asked once which packages it has, and again when they have changed: with
// CacheDir, a second Find starts no process. Find may be called by several goroutines and processes
// at once.
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

// Look is Find for an interpreter, or an environment's directory, that a user names. It may lack
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

// choose returns the interpreter to use.
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
		return "", fmt.Errorf("the Python of %s is gone: run `stoker python setup`: %w", made.Dir, err)
	}
	return made.Interpreter, nil
}

// locate returns the absolute path of the interpreter that a path or a name stands for. It does not
// follow links: the interpreter of an environment is a link to one outside of it.
func locate(named string) (string, error) {
	info, err := os.Stat(named)
	if err == nil && info.IsDir() {
		interpreter := interpreterIn(named)
		if _, err := os.Stat(interpreter); err != nil {
			return "", fmt.Errorf("%s is not a Python environment: it has no %s", named, interpreterIn(""))
		}
		return filepath.Abs(interpreter)
	}
	path, err := exec.LookPath(named)
	if err != nil {
		return "", fmt.Errorf("neither an interpreter nor the folder of an environment: %w", err)
	}
	return filepath.Abs(path)
}

// interpreterIn returns the path of a venv's interpreter.
func interpreterIn(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "Scripts", "python.exe")
	}
	return filepath.Join(dir, "bin", "python")
}

// Home returns the directory where Make makes environments for this user.
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
