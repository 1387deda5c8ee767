package table

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/data/examplegen"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// tableMemory limits the address space of a child that reads a file of a format with unbounded
// memory use.
const tableMemory = 8 << 30

// tableTime limits the time of a child: ten minutes, and a second for each 256 KiB of the file.
func tableTime(size int64) time.Duration {
	return 10*time.Minute + time.Duration(min(size>>18, 1<<30))*time.Second
}

// tableQuestion is the input of the child, tableAnswer its output.
type (
	tableQuestion struct {
		Path, Folder string
		Options      examplegen.Options
		Split        string // of the record to locate; "" to convert
		Record       int64
	}
	tableAnswer struct {
		Report examplegen.Report
		At     string // where the record is
		Error  string
	}
)

// NewCommand is the child process that answers a tableQuestion.
func NewCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "table",
		Annotations:       app.Info{Role: app.NoRole}.Annotations(),
		Short:             "Convert the table named on standard input to Examples",
		Hidden:            true,
		Args:              app.NoArguments,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			var q tableQuestion
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&q); err != nil {
				return err
			}
			if err := limitMemory(tableMemory); err != nil {
				return err
			}
			text, err := json.Marshal(q.answer(cmd.Context()))
			if err == nil {
				err = os.WriteFile(filepath.Join(q.Folder, tableAnswerFile), text, 0o600)
			}
			return err
		},
	}
}

func (q tableQuestion) answer(ctx context.Context) (a tableAnswer) {
	var err error
	if q.Split == "" {
		a.Report, err = examplegen.Convert(ctx, q.Path, q.Folder, q.Options)
	} else {
		a.At, err = q.locate(ctx)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func (q tableQuestion) locate(ctx context.Context) (string, error) {
	at, err := examplegen.Locate(ctx, q.Path, q.Options, q.Split, q.Record)
	if err != nil {
		return "", err
	}
	return at.Error(), nil
}

// tableAnswerFile holds the answer, in the folder of the Examples.
const tableAnswerFile = ".answer.json"

// convertTable converts a file, in a child process if its format does not bound memory and time.
func convertTable(ctx context.Context, path, folder string, o examplegen.Options) (examplegen.Report, error) {
	if !examplegen.Unbounded(path) {
		return examplegen.Convert(ctx, path, folder, o)
	}
	a, err := tableQuestion{Path: path, Folder: folder, Options: o}.askChild(ctx)
	return a.Report, err
}

// locateRecord returns file and line or row of a record of convertTable. The folder is that of the
// Examples.
func locateRecord(ctx context.Context, path, folder string, o examplegen.Options, split string, record int64) (string, error) {
	q := tableQuestion{Path: path, Folder: folder, Options: o, Split: split, Record: record}
	if !examplegen.Unbounded(path) {
		return q.locate(ctx)
	}
	a, err := q.askChild(ctx)
	return a.At, err
}

// askChild answers a question in a confined child process with limits of memory and time.
func (q tableQuestion) askChild(ctx context.Context) (tableAnswer, error) {
	self, err := os.Executable()
	if err != nil {
		return tableAnswer{}, err
	}
	path := q.Path
	if q.Path, err = filepath.Abs(path); err != nil {
		return tableAnswer{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return tableAnswer{}, err
	}
	question, err := json.Marshal(q)
	if err != nil {
		return tableAnswer{}, err
	}
	if err := runTable(ctx, path, q.Folder, question, tableTime(info.Size()), self, "table"); err != nil {
		return tableAnswer{}, err
	}
	return readAnswer(q.Folder)
}

// runTable runs the child, which reads the question from standard input, and kills it after limit.
func runTable(ctx context.Context, path, folder string, question []byte, limit time.Duration, command ...string) error {
	late := fmt.Errorf("%s: stopped because reading took more than %s: split the file, or write it again if it is small", path, limit)
	inTime, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	var stderr complaint
	cmd := exec.CommandContext(inTime, command[0], command[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), io.Discard, &stderr
	cmd.WaitDelay = 5 * time.Second
	err := runner.RunConfined(cmd, nil, folder)
	switch {
	case inTime.Err() != nil:
		return context.Cause(inTime)
	case err != nil && stderr.memory():
		return fmt.Errorf("%s: reading takes more than %d GiB of memory: the file is damaged, or its row groups and pages are too large: write it again with smaller ones", path, tableMemory>>30)
	case err != nil:
		return fmt.Errorf("%s: the process that read it died (%w): the file is damaged: write it again", path, err)
	}
	return nil
}

// complaint keeps the first bytes that a child writes to standard error.
type complaint struct{ text []byte }

func (b *complaint) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), 4<<10-len(b.text))]...)
	return len(p), nil
}

// memory reports whether the child ended because it got no more memory, by the message of Go's
// runtime.
func (b *complaint) memory() bool {
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "stack overflow"}, func(words string) bool {
		return bytes.Contains(b.text, []byte(words))
	})
}

func readAnswer(folder string) (a tableAnswer, err error) {
	answer := filepath.Join(folder, tableAnswerFile)
	text, err := os.ReadFile(answer)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, os.Remove(answer)
}
