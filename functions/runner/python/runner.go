package python

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Runner runs a command to its end, like the command's own Run. The command may write below a
// directory that it gets as TMPDIR, and what needs allows.
type Runner func(cmd *exec.Cmd, needs Needs) error

// Needs are the rights that a command needs. Most commands need none.
type Needs struct {
	Write   []string // directories that it writes to
	Network bool     // it installs packages from a registry
}

// run runs the command with r; if r is nil, with the rights of this process.
func (r Runner) run(cmd *exec.Cmd, needs Needs) error {
	if r == nil {
		return cmd.Run()
	}
	return r(cmd, needs)
}

// Env returns the variables of a process of this environment in addition to those of every module's
// process.
func (e Environment) Env(layout Layout, keras string) []string {
	env := []string{"PYTHONPATH=" + layout.Driver, "PYTHONNOUSERSITE=1", "STOKER_SHIM=" + layout.Shim}
	if keras != "" {
		env = append(env, "TF_USE_LEGACY_KERAS="+e.kerasEnv(keras))
	}
	if os.Getenv("TF_FORCE_GPU_ALLOW_GROWTH") == "" {
		env = append(env, "TF_FORCE_GPU_ALLOW_GROWTH=true")
	}
	return env
}

// Command returns the command that starts the driver in a mode. Compiled code that names the hash
// of its source is used only if the source has that hash.
func (e Environment) Command(mode Mode) []string {
	return []string{e.Interpreter, "--check-hash-based-pycs", "always", "-m", "stoker_runner", string(mode)}
}

// Mode is how the driver is started; see the package comment.
type Mode string

// The modes.
const (
	ModeJob  Mode = "job"
	ModeIdle Mode = "idle"
	ModeFork Mode = "fork"
)

// Setup is the line before the assignment: it prepares a process that may have been started long
// ago for one job.
type Setup struct {
	// Set in os.environ before any file of the module is imported.
	Env map[string]string `json:"env"`
	Dir string            `json:"dir"` // working directory
	// Prepended to sys.path: the directory of File, then that of all files.
	Path []string `json:"path"`
	// The module file, absolute; "" if RunFn or TunerFn name a module on Path.
	File    string `json:"file"`
	RunFn   string `json:"run_fn"`   // as in module.Source
	TunerFn string `json:"tuner_fn"` // as in module.Source
	Keras   string `json:"keras"`    // "2" or "3", as the process was started with
	// The runner chose it: if the other one is needed, it may be tried.
	KerasAuto bool   `json:"keras_auto"`
	Autograph string `json:"autograph"` // as in module.Source
	// A process.Sandbox that it is to enter, see sandbox.py; nil: none, or it is within one
	// already.
	Sandbox any `json:"sandbox"`
}

// tail keeps the end of a program's output.
type tail struct{ text []byte }

// maxTail is how much of it is kept: some lines of an installer's.
const maxTail = 2000

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	if len(t.text) > maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return len(text), nil
}

// lines returns the last lines, without those that carry no information.
func (t *tail) lines(most int) []string {
	var kept []string
	for line := range strings.Lines(strings.ToValidUTF8(string(t.text), "")) {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return kept[max(0, len(kept)-most):]
}

// after returns a separator and the last line; "" if there is no line.
func (t *tail) after(separator string) string {
	if last := t.lines(1); len(last) > 0 {
		return separator + last[0]
	}
	return ""
}

// Kerases returns the versions of Keras, 2 or 3, that tf.keras can be. TensorFlow below 2.16
// includes Keras 2, without a choice; later versions have Keras 3, and Keras 2 is the package
// tf_keras. If neither is known to be installed, both are returned, because neither will be used.
func (e Environment) Kerases() []string {
	if e.hasOwnKeras2() || strings.HasPrefix(e.Packages["keras"], "2.") {
		return []string{"2"}
	}
	var there []string
	for _, has := range []struct{ keras, name string }{{"3", "keras"}, {"2", "tf-keras"}} {
		if _, ok := e.Packages[has.name]; ok {
			there = append(there, has.keras)
		}
	}
	if len(there) == 0 {
		return []string{"3", "2"}
	}
	return there
}

// kerasEnv returns the value of TF_USE_LEGACY_KERAS for a version of Keras; "" if TensorFlow has no
// choice, because a value would confuse it.
func (e Environment) kerasEnv(keras string) string {
	if e.hasOwnKeras2() {
		return ""
	}
	return map[string]string{"2": "1", "3": "0"}[keras]
}

// KerasSigns reads the source of a module, files below dir and what they import from there, and
// returns the first sign that it needs Keras 2 and the first that it needs Keras 3. It imports
// nothing.
func (e Environment) KerasSigns(ctx context.Context, layout Layout, dir string, files ...string) (map[string]string, error) {
	script := filepath.Join(layout.Driver, "stoker_runner", "keras_choice.py")
	var signs map[string]string
	if err := ask(ctx, e.by, &signs, e.Interpreter, append([]string{"-I", "-S", script, dir}, files...)...); err != nil {
		return nil, fmt.Errorf("find the Keras version that %s needs: %w", dir, err)
	}
	return signs, nil
}
