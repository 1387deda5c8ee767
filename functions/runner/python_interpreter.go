package runner

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// Interpreter is a Python that has TensorFlow, to ask the model of a module in its files: the one that a TFX module
// runs in, and for others the one that TFX modules run in that name none. "" where there is none.
func (h *Runner) Interpreter(ctx context.Context, source module.Source) string {
	cache, err := h.cacheDir()
	if err != nil {
		return ""
	}
	e, err := python.Find(ctx, python.Options{Named: source.Python, Default: h.python.byDefault(), CacheDir: cache, By: h.runPython})
	if err != nil {
		h.opts.Logger.Debug("no Python to ask a model in its files", "why", err)
		return ""
	}
	return e.Interpreter
}

// byDefault is the interpreter of modules that name none, where the worker's environment says which.
func (p *pythonRunner) byDefault() string { return cmp.Or(p.host.opts.Python, os.Getenv(PythonEnv)) }

// runPython is the python.Runner of a host: pipelines name interpreters and packages, which run code when they start. It is held to what
// modules are held to, but for the limits of a job. What installs packages has the network, and writes files of any size.
func (h *Runner) runPython(cmd *exec.Cmd, needs python.Needs) (err error) {
	home, err := os.MkdirTemp(h.supervisor.Dir(), "python-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	cmd.Env = append(cmd.Env, "TMPDIR="+home)
	var access *process.Access
	if h.access.on {
		access = &process.Access{Hidden: h.access.hidden, Write: needs.Write}
	}
	confinement := h.supervisor.Confinement()
	if needs.Network {
		confinement.NoNetwork, confinement.FileBytes = false, 0
	}
	return h.users.ids.With(func(user *process.User) error {
		if user != nil {
			cmd.Env = append(cmd.Env, "HOME="+home)
		}
		if err := h.users.handInstall(user, cmd.Path, needs.Write); err != nil {
			return err
		}
		return errors.Join(process.Run(cmd, home, process.Bounds{Access: access, Confinement: confinement, User: user}),
			h.users.reclaim(user, needs.Write...))
	})
}
