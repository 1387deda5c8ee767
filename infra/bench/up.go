package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/local"
)

// up is a `stoker up` of the measured binary, in a process of its own.
type up struct {
	pid        int
	started    time.Duration // from the start of the process to its word that everything is up
	connection local.Connection
}

// stopTime bounds how long a stack may take to leave.
const stopTime = 15 * time.Second

// withUp runs the stack on dir for as long as do runs, and then stops it as Ctrl-C does. flags are
// of `stoker up`.
func (b bench) withUp(ctx context.Context, dir string, do func(context.Context, up) error, flags ...string) (err error) {
	cmd := exec.CommandContext(ctx, b.binary, append([]string{"up", "--data", dir}, flags...)...)
	cmd.Env = append(os.Environ(), b.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reader.Close()
	cmd.Stderr = writer
	began := time.Now()
	err = cmd.Start()
	_ = writer.Close() // the process has its own
	if err != nil {
		return fmt.Errorf("start %s: %w", b.binary, err)
	}
	said := newListening(reader)
	defer func() { err = errors.Join(err, stop(cmd), said.end()) }()
	stack, err := arrive(ctx, said, dir, began)
	if err != nil {
		return err
	}
	stack.pid = cmd.Process.Pid
	return do(ctx, stack)
}

// arrive waits for the word that the stack is up, which comes after connection.json is there.
func arrive(ctx context.Context, said *listening, dir string, began time.Time) (up, error) {
	var s up
	select {
	case <-said.up:
		s.started = time.Since(began)
	case <-said.ended:
		return s, fmt.Errorf("stoker up left before it was up:\n%s", said.text.String())
	case <-ctx.Done():
		return s, context.Cause(ctx)
	}
	var err error
	s.connection, err = local.ReadConnection(dir)
	return s, err
}

// stop interrupts the process and waits for it. It leaves with status 0 or 130.
func stop(cmd *exec.Cmd) error {
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended, which Wait reports
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 130 {
		return nil
	}
	return err
}

// listening reads what a stack says on standard error, to its end. text may be read once ended is
// closed.
type listening struct {
	up, ended chan struct{}
	text      strings.Builder
}

func newListening(from io.Reader) *listening {
	l := &listening{up: make(chan struct{}), ended: make(chan struct{})}
	go l.listen(from) // end waits for it
	return l
}

func (l *listening) listen(from io.Reader) {
	defer close(l.ended)
	heard := false
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		fmt.Fprintln(&l.text, lines.Text())
		if !heard && strings.HasPrefix(lines.Text(), "stoker is up") {
			heard = true
			close(l.up)
		}
	}
}

// end waits until the process has said its last, and makes an error of what it warned of.
func (l *listening) end() error {
	<-l.ended
	if strings.Contains(l.text.String(), "level=") {
		return fmt.Errorf("stoker up had warnings:\n%s", l.text.String())
	}
	return nil
}
