package report

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
)

// The files in a study's directory, in addition to TensorBoard's.
const (
	CSVFile  = "trials.csv"
	JSONFile = "study.json"
	LogFile  = "log.jsonl" // the log itself, one entry a line; callers that have it write it
)

// Write fills a directory with a study's report: study.json, trials.csv and, for at most so many
// trials, TensorBoard's files.
func Write(dir string, s *tune.Study, mostSessions int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r := Of(s)
	for name, write := range map[string]func(io.Writer) error{CSVFile: r.CSV, JSONFile: r.JSON} {
		if err := create(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	if err := TensorBoard(dir, s, mostSessions); err != nil {
		return fmt.Errorf("event files: %w", err)
	}
	return nil
}

func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
