package quality

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// longestLineBytes limits a line of values that Serve reads.
const longestLineBytes = 1 << 20

// Serve evaluates a function for searches in another process. It writes a line of JSON with the
// direction and the space, and then, for each line of values (an object by name), a line with the
// number. It returns at the end of in.
func Serve(f Function, in io.Reader, out io.Writer) error {
	encoder := json.NewEncoder(out) // ends each value with a newline
	about := struct {
		Direction tune.Direction `json:"direction"`
		Space     space.Space    `json:"space"`
	}{f.Direction, f.Space}
	if err := encoder.Encode(about); err != nil {
		return fmt.Errorf("serve %s: %w", f.Name, err)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLineBytes)
	for lines.Scan() {
		y, err := f.answer(lines.Bytes())
		if err != nil {
			return fmt.Errorf("serve %s: %.200s: %w", f.Name, lines.Bytes(), err)
		}
		if err := encoder.Encode(y); err != nil {
			return fmt.Errorf("serve %s: %w", f.Name, err)
		}
	}
	return lines.Err()
}

// answer returns the value for values as JSON. Numbers get the types of their parameters, because
// Python writes a whole float with or without a decimal point.
func (f Function) answer(line []byte) (float64, error) {
	var values space.Values
	if err := json.Unmarshal(line, &values); err != nil {
		return 0, err
	}
	return f.At(f.Space.Complete(values))
}

// WithServed starts a command that serves f (see Serve), and calls use with an f that asks the
// command. That f is not safe for concurrent use. The error contains the end of the command's
// standard error.
func WithServed(f Function, server *exec.Cmd, use func(Function) error) (err error) {
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	var stderr tail
	server.Stderr = &stderr
	if err := server.Start(); err != nil {
		return fmt.Errorf("serve %s: %w", f.Name, err)
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, longestLineBytes)
	f.At = func(values space.Values) (float64, error) { return ask(values, in, answers) }
	answers.Scan() // direction and space
	err = use(f)
	if ended := errors.Join(in.Close(), server.Wait()); ended != nil {
		err = errors.Join(err, fmt.Errorf("serve %s: %w: %s", f.Name, ended, stderr.text))
	}
	return err
}

// ask sends values and waits for their number.
func ask(values space.Values, to io.Writer, answers *bufio.Scanner) (y float64, err error) {
	line, err := json.Marshal(values)
	if err != nil {
		return 0, err
	}
	if _, err := to.Write(append(line, '\n')); err != nil {
		return 0, fmt.Errorf("ask for %s: %w", line, err)
	}
	if !answers.Scan() {
		return 0, fmt.Errorf("ask for %s: no answer: %w", line, errors.Join(answers.Err(), io.ErrUnexpectedEOF))
	}
	return y, json.Unmarshal(answers.Bytes(), &y)
}

// tail keeps the end of the text that is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-500):]
	return len(p), nil
}
