package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

// fill makes the venv and installs exactly the packages of the lock: only wheels, without building
// anything, and without dependencies that are not in the lock.
func fill(ctx context.Context, from base, dir string, opts MakeOptions) error {
	if err := venv(ctx, nil, from.Interpreter, dir); err != nil {
		return err
	}
	lock := filepath.Join(dir, "requirements.lock")
	if err := os.WriteFile(lock, opts.Lock, 0o644); err != nil {
		return err
	}
	command := pipInstall(interpreterIn(dir))
	if uv, err := exec.LookPath("uv"); err == nil && !opts.Pip {
		command = []string{uv, "pip", "install", "--python", interpreterIn(dir)}
	}
	command = append(command, "--no-deps", "--only-binary", ":all:", "-r", lock)
	progress := opts.Progress
	if opts.Installing != nil {
		progress = opts.Installing(packagesIn(opts.Lock))
	}
	if said, err := talk(ctx, nil, progress, command, Needs{}); err != nil {
		return fmt.Errorf("install its packages: %w: %s", err, strings.Join(said.lines(5), "; "))
	}
	return nil
}

// packagesIn counts the packages of a lock: its lines that are neither empty nor a comment, an
// option or a hash.
func packagesIn(lock []byte) (n int) {
	for line := range strings.Lines(string(lock)) {
		if line != "" && strings.ContainsAny(line[:1], letters) {
			n++
		}
	}
	return n
}

// letters begin the name of a package.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// venv makes an environment that contains only pip.
func venv(ctx context.Context, by Runner, python, dir string, options ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, beginning), nil, 0o644); err != nil {
		return err
	}
	command := append([]string{python, "-I", "-m", "venv"}, options...)
	if said, err := talk(ctx, by, io.Discard, append(command, dir), Needs{Write: []string{dir}}); err != nil {
		return fmt.Errorf("%s -m venv: %w: %s", python, err, strings.Join(said.lines(5), "; "))
	}
	return nil
}

func pipInstall(python string) []string {
	return []string{
		python, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "2",
	}
}

// talk runs an installer, shows its output, and keeps the end of it.
func talk(ctx context.Context, by Runner, progress io.Writer, command []string, needs Needs) (*tail, error) {
	runtime.LockOSThread() // the thread that starts a process is its parent to the kernel
	defer runtime.UnlockOSThread()
	said := &tail{}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.WaitDelay, cmd.SysProcAttr = installEnv(os.Environ()), time.Second, endsWithUs()
	cmd.Stdout = io.MultiWriter(said, progress)
	cmd.Stderr = cmd.Stdout
	if err := by.run(cmd, needs); err != nil {
		if ctx.Err() != nil {
			return said, context.Cause(ctx)
		}
		if _, ended := errors.AsType[*exec.ExitError](err); ended {
			err = fmt.Errorf("%s ended with %w", filepath.Base(command[0]), err)
		}
		return said, err
	}
	return said, nil
}

// installFailure returns which requirement pip could not install, and why, in a few lines.
func installFailure(over Environment, requirements []module.Requirement, said *tail, err error) error {
	lines := said.lines(8)
	var culprits, all []string
	for _, r := range requirements {
		all = append(all, r.Text)
		if mentions(lines, r.Name) {
			culprits = append(culprits, r.Text+over.has(r.Name))
		}
	}
	if len(culprits) == 0 {
		culprits = all
	}
	what := "install " + strings.Join(culprits, ", ")
	if away := slices.ContainsFunc(lines, registryIsAway); away {
		return fmt.Errorf("%s: this worker can't reach a package registry: install the package in the environment that module.python names, "+
			"or give a wheel: %w: %s", what, err, strings.Join(lines[max(0, len(lines)-2):], "; "))
	}
	errorsOf := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "ERROR:") })
	if len(errorsOf) == 0 {
		errorsOf = lines
	}
	return fmt.Errorf("%s: %w: %s", what, err, strings.Join(errorsOf, "; "))
}

// mentions reports whether one of the lines names a package.
func mentions(lines []string, name string) bool {
	return name != "" && slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(strings.ToLower(line), strings.ToLower(name))
	})
}

// has recognizes a package that is already installed in a version that stays.
func (e Environment) has(name string) string {
	if version, ok := e.Packages[strings.ReplaceAll(strings.ToLower(name), "_", "-")]; ok {
		return fmt.Sprintf(" (the environment has %s, and keeps it)", version)
	}
	return ""
}

// registryIsAway recognizes pip's messages for that.
func registryIsAway(line string) bool {
	return slices.ContainsFunc([]string{
		"NewConnectionError", "ConnectTimeoutError", "NameResolutionError", "ProxyError", "Failed to establish a new connection",
		"Name or service not known", "Temporary failure in name resolution", "Network is unreachable", "Max retries exceeded",
	}, func(words string) bool { return strings.Contains(line, words) })
}

// wanted returns the modules that module files import, each with the package that installs it.
func wanted() []dependency {
	return []dependency{
		{Module: "tensorflow", Package: "tensorflow"},
		{Module: "tensorflow_transform", Package: "tensorflow-transform"},
		{Module: "tfx_bsl", Package: "tfx-bsl"},
		{Module: "keras_tuner", Package: "keras-tuner"},
		{Module: "tensorboard", Package: "tensorboard"},
		{Module: "tf_keras", Package: "tf_keras"}, // Keras 2, which TensorFlow below 2.16 includes
	}
}

// dependency is a module that TFX module files import.
type dependency struct {
	Module  string `json:"module"`
	Package string `json:"package"` // as pip calls it
}

// oldest is the oldest Python that the driver supports.
var oldest = [2]int{3, 10}

// fit returns an error that says in one line why no TFX module can run in the environment.
func (e Environment) fit() error {
	if err := e.newEnough(); err != nil {
		return err
	}
	if slices.Contains(e.modules, "tensorflow") {
		return nil
	}
	lacks := e.Lacks()
	return fmt.Errorf("%s lacks %s: run `%s`, or `stoker python setup` for a complete environment",
		e.Interpreter, strings.Join(lacks, ", "), e.toAdd(lacks))
}

// newEnough returns an error if the Python is too old for the driver.
func (e Environment) newEnough() error {
	if major, minor := e.minor(); major > oldest[0] || major == oldest[0] && minor >= oldest[1] {
		return nil
	}
	return fmt.Errorf("%s is Python %s, which is too old: TFX modules need %d.%d or later "+
		"(`stoker python setup` creates an environment)", e.Interpreter, e.Version, oldest[0], oldest[1])
}

// Lacks names the missing packages among those that TFX module files import. A module that needs
// none of them still runs.
func (e Environment) Lacks() []string {
	var lacks []string
	for _, w := range wanted() {
		if !slices.Contains(e.modules, w.Module) && !(w.Module == "tf_keras" && e.hasOwnKeras2()) {
			lacks = append(lacks, w.Package)
		}
	}
	return lacks
}

// toAdd returns the command that installs packages, as a user would type it.
func (e Environment) toAdd(packages []string) string {
	return e.Interpreter + " -m pip install " + strings.Join(packages, " ")
}

// hasOwnKeras2 reports whether the environment's TensorFlow, below 2.16, includes Keras 2.
func (e Environment) hasOwnKeras2() bool {
	for _, name := range tensorFlows() {
		var major, minor int
		if n, _ := fmt.Sscanf(e.Packages[name], "%d.%d", &major, &minor); n == 2 {
			return major == 2 && minor < 16
		}
	}
	return false
}

// tensorFlows returns the packages that install TensorFlow.
func tensorFlows() []string { return []string{"tensorflow", "tensorflow-cpu"} }

func (e Environment) minor() (major, minor int) {
	// A text that isn't a version counts as too old.
	_, _ = fmt.Sscanf(e.Version, "%d.%d", &major, &minor)
	return major, minor
}
