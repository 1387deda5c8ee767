package module

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

// maxAssignmentBytes limits one line of standard input.
const maxAssignmentBytes = 64 << 20

// Serve works on the assignments from in, one at a time, until in ends or one of them fails. Each
// error is reported on progress before it is returned. If ctx ends, the error has ErrStopped in its
// chain, whatever the module's function returned.
func Serve(ctx context.Context, in io.Reader, progress io.Writer, m Module) error {
	lines := bufio.NewReader(in)
	out := newSender(progress)
	for {
		a, err := readAssignment(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && ctx.Err() == nil { // ctx may have ended while it waited
			err = m.work(ctx, a, out)
		}
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
		case err != nil:
			return errors.Join(err, out.send(Message{Type: MessageError, Error: asError(err)}))
		}
		if a.Call == CallTrain && !out.saidSettings() {
			if err := out.sendSettings(a.given()); err != nil {
				_, _ = fmt.Fprintf(os.Stderr, "the arguments of the training can't be shown: %v\n", err)
			}
		}
		if err := out.done(); err != nil {
			return err
		}
	}
}

// readAssignment reads and checks one line. It returns io.EOF at the end.
func readAssignment(in *bufio.Reader) (Assignment, error) {
	line, err := readLine(in)
	if err != nil {
		return Assignment{}, err
	}
	var a Assignment
	if err := json.Unmarshal(line, &a); err != nil {
		return Assignment{}, fmt.Errorf("read assignment: %w", err)
	}
	if err := a.Validate(); err != nil {
		return Assignment{}, fmt.Errorf("assignment: %w", err)
	}
	return a, nil
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > maxAssignmentBytes:
			return nil, fmt.Errorf("read assignment: longer than %d bytes", maxAssignmentBytes)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, fmt.Errorf("read assignment: %w", io.ErrUnexpectedEOF)
		default:
			return nil, err
		}
	}
}

// work calls the function for the assignment's call. It returns a panic as an error.
func (m Module) work(ctx context.Context, a Assignment, out *sender) (err error) {
	defer func() {
		if value := recover(); value != nil {
			stack := debug.Stack()
			_, _ = fmt.Fprintf(os.Stderr, "panic: %v\n\n%s", value, stack)
			err = fmt.Errorf("panic: %v\n%s", value, panicSite(stack))
		}
	}()
	a.Trace.export()
	args := &Args{Assignment: a, out: out}
	switch {
	case a.Call == CallCheck && m.Check != nil:
		return m.answer(ctx, args)
	case a.Call == CallTune && m.Tune != nil:
		return m.study(ctx, args)
	case a.Call == CallCheck || a.Call == CallTune || m.Train == nil:
		return fmt.Errorf("module %s can't %s", a.Module, a.Call)
	}
	return m.Train(ctx, args)
}

// study sends the search of the module.
func (m Module) study(ctx context.Context, a *Args) error {
	config, err := m.Tune(ctx, a)
	if err != nil {
		return err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("write the search space: %w", err)
	}
	return a.out.send(Message{Type: MessageStudy, Study: text})
}

// answer runs the check, and sends the result.
func (m Module) answer(ctx context.Context, a *Args) error {
	found, err := m.Check(ctx, a.Question)
	if err != nil {
		return err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("write the result of a check: %w", err)
	}
	return a.out.send(Message{Type: MessageAnswer, Answer: text})
}

// panicSite returns the frames of a stack next to the panic: those of the code that raised it.
func panicSite(stack []byte) string {
	lines := strings.Split(strings.TrimSpace(string(stack)), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			lines = lines[min(i+2, len(lines)):]
			break
		}
	}
	const frames = 8
	return strings.Join(lines[:min(2*frames, len(lines))], "\n")
}
