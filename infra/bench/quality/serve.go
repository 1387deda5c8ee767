package quality

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// longest line of values that Serve reads.
const longestLineBytes = 1 << 20

// Serve answers for a function, for searches in another process: first a line of JSON with its
// direction and space, then for each line of values, an object by name, a line with the number. It
// returns at the end of what it reads.
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

// answer is the value for values as JSON. Numbers are taken as their parameters have them: Python
// writes a whole float either way.
func (f Function) answer(line []byte) (float64, error) {
	var values space.Values
	if err := json.Unmarshal(line, &values); err != nil {
		return 0, err
	}
	return f.At(f.Space.Complete(values))
}
