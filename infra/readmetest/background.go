package readmetest

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// grace is how long a command in the background may take to end after Ctrl-C.
const grace = 30 * time.Second

// background is a command that keeps running in a terminal of its own.
type background struct {
	page  string
	step  Step
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended

	mu      sync.Mutex
	printed strings.Builder
	more    chan struct{} // closed, and replaced, when something is printed
	log     io.Writer
}

func startBackground(block Block, dir string, o Options) (*background, error) {
	b := &background{page: block.Page, step: block.Steps[0], ended: make(chan struct{}), more: make(chan struct{}), log: o.Log}
	b.cmd = exec.Command("bash", "-c", b.step.Command)
	b.cmd.Dir, b.cmd.Env, b.cmd.Stdout, b.cmd.Stderr = dir, o.Env, b, b
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.cmd.WaitDelay = grace
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start in the background: %w", err)
	}
	go func() { // stop waits for it
		defer close(b.ended)
		_ = b.cmd.Wait() // only its output is checked
	}()
	return b, nil
}

// Write receives the output of the command.
func (b *background) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.printed.Write(text)
	close(b.more)
	b.more = make(chan struct{})
	return b.log.Write(text)
}

func (b *background) soFar() (printed string, more <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.printed.String(), b.more
}

// ready waits until the command has printed the expected output.
func (b *background) ready(ctx context.Context) error {
	for {
		printed, more := b.soFar()
		if begins(b.step.Want, printed) {
			return nil
		}
		select {
		case <-more:
		case <-b.ended:
			if printed, _ := b.soFar(); !begins(b.step.Want, printed) {
				return fmt.Errorf("ended without what it should print\n%s", difference(b.step.Want, printed))
			}
		case <-ctx.Done():
			return fmt.Errorf("%w\n%s", context.Cause(ctx), difference(b.step.Want, printed))
		}
	}
}

// stop ends the command as Ctrl-C does and waits until it has ended.
func (b *background) stop() error {
	if syscall.Kill(-b.cmd.Process.Pid, syscall.SIGINT) != nil { // fails only if all have ended
		<-b.ended
		return fmt.Errorf("%s:%d: $ %s: ended before the last block was done", b.page, b.step.Line, b.step.Command)
	}
	select {
	case <-b.ended:
		return nil
	case <-time.After(grace):
	}
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
	<-b.ended
	return fmt.Errorf("%s:%d: $ %s: still running %v after Ctrl-C", b.page, b.step.Line, b.step.Command, grace)
}
