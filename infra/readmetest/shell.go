package readmetest

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// shell is the one terminal into which the blocks are typed.
type shell struct {
	input  io.Writer
	output *bufio.Reader
	log    io.Writer
	mark   string // ends the output of each command; random, so that no command prints it
	dir    string // where the last command left the shell
	kill   func()
}

// withShell lends a shell to use. When use returns, the shell and all processes that it started
// have ended.
func withShell(o Options, use func(*shell) error) error {
	printed, prints, err := os.Pipe()
	if err != nil {
		return err
	}
	defer printed.Close()
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.Dir, o.Env, prints, prints
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	typed, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	err = cmd.Start()
	_ = prints.Close() // the shell has its own copy: without ours, its end is the end of the output
	if err != nil {
		return fmt.Errorf("start a shell: %w", err)
	}
	sh := &shell{input: typed, output: bufio.NewReader(printed), log: o.Log, mark: "done-" + rand.Text(), dir: o.Dir,
		// Fails only if all processes have ended.
		kill: func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }}
	err = use(sh)
	sh.kill()
	_ = cmd.Wait() // only reports that it was killed
	return err
}

// run types one command and returns what it prints. Its standard input is empty.
func (s *shell) run(ctx context.Context, command string) (string, error) {
	defer context.AfterFunc(ctx, s.kill)()
	_, err := fmt.Fprintf(s.input, "eval %s </dev/null\nprintf '\\n%s %%d %%s\\n' \"$?\" \"$PWD\"\n", quote(command), s.mark)
	if err != nil {
		return "", fmt.Errorf("type into the shell: %w", err)
	}
	var printed strings.Builder
	for {
		line, err := s.output.ReadString('\n')
		if after, ok := strings.CutPrefix(line, s.mark+" "); ok {
			return printed.String(), s.ended(strings.TrimSuffix(after, "\n"))
		}
		printed.WriteString(line)
		_, _ = io.WriteString(s.log, line)
		if ctx.Err() != nil {
			return printed.String(), context.Cause(ctx)
		}
		if err != nil {
			return printed.String(), fmt.Errorf("it ended the shell")
		}
	}
}

// ended reads the exit status and the folder that the shell is now in.
func (s *shell) ended(line string) error {
	status, dir, _ := strings.Cut(line, " ")
	s.dir = dir
	if code, err := strconv.Atoi(status); err != nil || code != 0 {
		return fmt.Errorf("exit status %s", status)
	}
	return nil
}

// quote quotes a text as one word of the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
