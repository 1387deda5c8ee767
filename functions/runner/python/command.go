package python

import "os"

// Env are the variables of a process of this environment in addition to those of every module's process.
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
