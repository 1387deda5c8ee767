package quality

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// WithServed runs a command that serves f, see Serve, and hands on f with the command's answers for
// values. They are not for concurrent callers. What the command writes to standard error is lost,
// but for its last words in an error.
func WithServed(f Function, server *exec.Cmd, use func(Function) error) (err error) {
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	var said tail
	server.Stderr = &said
	if err := server.Start(); err != nil {
		return fmt.Errorf("serve %s: %w", f.Name, err)
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, longestLineBytes)
	f.At = func(values space.Values) (float64, error) { return ask(values, in, answers) }
	answers.Scan() // what it says of itself
	err = use(f)
	if ended := errors.Join(in.Close(), server.Wait()); ended != nil {
		err = errors.Join(err, fmt.Errorf("serve %s: %w: %s", f.Name, ended, said.text))
	}
	return err
}

// ask sends values, and waits for their number.
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

// tail keeps the end of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-500):]
	return len(p), nil
}
