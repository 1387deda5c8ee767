package runner

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// RunConfined runs a command that is foreign code and needs only to read files. Where the kernel has Landlock it writes nowhere but in
// the folders write and a temporary folder, which is removed afterwards, and reads neither hidden, whose paths are absolute, nor what
// programs of this user keep credentials in. The temporary folder is the command's TMPDIR, and its HOME unless its environment has one.
// STOKER_MODULE_SANDBOX, STOKER_MODULE_HIDE and STOKER_MODULE_WRITE hold as for modules.
func RunConfined(cmd *exec.Cmd, hidden []string, write ...string) (err error) {
	home, err := os.MkdirTemp("", "stoker-confined-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	a, err := newAccess(Options{Hidden: hidden})
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+home)
	if !slices.ContainsFunc(cmd.Env, func(pair string) bool { return strings.HasPrefix(pair, "HOME=") }) {
		cmd.Env = append(cmd.Env, "HOME="+home)
	}
	var access *process.Access
	if a.on {
		access = &process.Access{Hidden: a.hidden, Write: slices.Concat(write, a.write)}
	}
	return process.Run(cmd, home, process.Bounds{Access: access})
}
