package export

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// Predict writes the graph's outputs for the first rows of a source, at most so many, into a new
// file, in the format that modules must write: JSON, one object in each line for one row, from
// output name to a list of numbers, or of "NaN", "Infinity" and "-Infinity", for which JSON has no
// numbers; a number is the 64-bit one that is equal to it. Strings are strings, or {"b64": "/w=="}
// if they are not UTF-8, as in requests to TensorFlow Serving. These are the answers of a model in
// memory, computed as in evaluations, for comparison with the model in its file.
func Predict(ctx context.Context, path string, g *nn.Graph, s train.Source, rows int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("predictions: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	if err := predict(ctx, json.NewEncoder(w), g, s, rows); err != nil {
		return fmt.Errorf("predictions: %w", err)
	}
	return w.Flush()
}

func predict(ctx context.Context, to *json.Encoder, g *nn.Graph, s train.Source, rows int) error {
	e, err := nn.NewEvaluator(g)
	if err != nil {
		return err
	}
	for rows > 0 {
		batch, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = e.Run(batch.Inputs)
		}
		if err != nil {
			return err
		}
		for r := range min(batch.Rows, rows) {
			if err := to.Encode(answer(e, g.Outputs, r)); err != nil {
				return err
			}
		}
		rows -= batch.Rows
	}
	return nil
}

// answer returns one row of every output.
func answer(e *nn.Evaluator, outputs []nn.Output, row int) map[string][]any {
	answer := map[string][]any{}
	for _, o := range outputs {
		v, from, to := e.Value(o.Node), row*o.Width, (row+1)*o.Width
		switch v.Kind {
		case nn.Float32:
			for _, x := range v.Floats[from:to] {
				answer[o.Name] = append(answer[o.Name], jsonNumber(float64(x)))
			}
		case nn.Int64:
			for _, x := range v.Ints[from:to] {
				answer[o.Name] = append(answer[o.Name], x)
			}
		case nn.String:
			for _, text := range v.Strings[from:to] {
				answer[o.Name] = append(answer[o.Name], jsonText(text))
			}
		}
	}
	return answer
}

// jsonText returns a string, or its bytes in base64 if it is not UTF-8.
func jsonText(text []byte) any {
	if utf8.Valid(text) {
		return string(text)
	}
	return map[string][]byte{"b64": text}
}
