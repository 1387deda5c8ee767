package python

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Runner runs a command to its end, as its Run does. The command writes below a folder that it gets
// as TMPDIR, and as needs says.
type Runner func(cmd *exec.Cmd, needs Needs) error

// Needs are the rights that a command needs. Most need none.
type Needs struct {
	Write   []string // folders that it writes in
	Network bool     // it installs packages from a registry
}

// run has the command run by r; nil runs it with the rights of this process.
func (r Runner) run(cmd *exec.Cmd, needs Needs) error {
	if r == nil {
		return cmd.Run()
	}
	return r(cmd, needs)
}

// Env are the variables of a process of this environment in addition to those of every module's
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

// Command starts the driver in a mode. Compiled code that says it was made of a source with a
// certain hash is used only if it was.
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

// Setup is the line before the assignment: what makes a process that may have been started long ago
// that of one job.
type Setup struct {
	Env       map[string]string `json:"env"`        // set in os.environ before anything of the module is imported
	Dir       string            `json:"dir"`        // working directory
	Path      []string          `json:"path"`       // to the front of sys.path: the folder of File, then that of all files
	File      string            `json:"file"`       // the module file, absolute; "" where RunFn or TunerFn name a module on Path
	RunFn     string            `json:"run_fn"`     // as in module.Source
	TunerFn   string            `json:"tuner_fn"`   // as in module.Source
	Keras     string            `json:"keras"`      // "2" or "3", as the process was started with
	KerasAuto bool              `json:"keras_auto"` // nobody chose it: where the other one is needed, it may be tried
	Autograph string            `json:"autograph"`  // as in module.Source
	Sandbox   any               `json:"sandbox"`    // a process.Sandbox that it is to enter, see sandbox.py; nil: none, or it is within one
}

// tail keeps the end of what a program says.
type tail struct{ text []byte }

// maxTail is how much of it: some lines of an installer's.
const maxTail = 2000

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	if len(t.text) > maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return len(text), nil
}

// lines are the last ones, without those that say nothing.
func (t *tail) lines(most int) []string {
	var kept []string
	for line := range strings.Lines(strings.ToValidUTF8(string(t.text), "")) {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return kept[max(0, len(kept)-most):]
}

// after is the last line behind a separator; "" where there is none.
func (t *tail) after(separator string) string {
	if last := t.lines(1); len(last) > 0 {
		return separator + last[0]
	}
	return ""
}

// Kerases are the versions of Keras, 2 or 3, that tf.keras can be here. TensorFlow below 2.16
// brings Keras 2 and has no choice; from then on Keras 3 is its own, and Keras 2 the package
// tf_keras. Where nothing is known of either, any will do: nobody will ask for it.
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

// kerasEnv is the value of TF_USE_LEGACY_KERAS for a version of Keras; "" where TensorFlow has no
// choice, and one confuses it.
func (e Environment) kerasEnv(keras string) string {
	if e.hasOwnKeras2() {
		return ""
	}
	return map[string]string{"2": "1", "3": "0"}[keras]
}

// KerasSigns reads the source of a module, files below dir and what they import from there, for
// what needs Keras 2 or 3, and gives the first sign of each. Nothing is imported for it.
func (e Environment) KerasSigns(ctx context.Context, layout Layout, dir string, files ...string) (map[string]string, error) {
	script := filepath.Join(layout.Driver, "stoker_runner", "keras_choice.py")
	var signs map[string]string
	if err := ask(ctx, e.by, &signs, e.Interpreter, append([]string{"-I", "-S", script, dir}, files...)...); err != nil {
		return nil, fmt.Errorf("read %s for the Keras that it needs: %w", dir, err)
	}
	return signs, nil
}
