package main

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
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/examplegen"
	"github.com/stoker-ml/stoker/functions/guest"
)

// tableMemory is how much address space a child has that reads a file whose memory can't be bounded.
const tableMemory = 8 << 30

// tableQuestion goes to the child, tableAnswer comes back.
type (
	tableQuestion struct {
		Path, Folder string
		Options      examplegen.Options
	}
	tableAnswer struct {
		Report examplegen.Report
		Error  string
	}
)

// newTable is the child process of convertTable.
func newTable() *cobra.Command {
	return &cobra.Command{
		Use:               "table",
		Short:             "Make Examples of a table that is named on standard input",
		Hidden:            true,
		Args:              noArguments,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			var q tableQuestion
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&q); err != nil {
				return err
			}
			if err := limitMemory(tableMemory); err != nil {
				return err
			}
			var a tableAnswer
			var err error
			if a.Report, err = examplegen.Convert(cmd.Context(), q.Path, q.Folder, q.Options); err != nil {
				a.Error = err.Error()
			}
			text, err := json.Marshal(a)
			if err == nil {
				err = os.WriteFile(filepath.Join(q.Folder, tableAnswerFile), text, 0o600)
			}
			return err
		},
	}
}

// tableAnswerFile holds the answer, in the folder of the Examples.
const tableAnswerFile = ".answer.json"

// convertTable converts a file, in a confined child process with a limit of memory where it may cost any.
func convertTable(ctx context.Context, path, folder string, o examplegen.Options) (examplegen.Report, error) {
	if !examplegen.Unbounded(path) {
		return examplegen.Convert(ctx, path, folder, o)
	}
	self, err := os.Executable()
	if err != nil {
		return examplegen.Report{}, err
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return examplegen.Report{}, err
	}
	question, err := json.Marshal(tableQuestion{full, folder, o})
	if err != nil {
		return examplegen.Report{}, err
	}
	cmd := exec.CommandContext(ctx, self, "table")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), io.Discard, io.Discard
	cmd.WaitDelay = 5 * time.Second
	if err := guest.RunConfined(cmd, folder); err != nil {
		if ctx.Err() != nil {
			return examplegen.Report{}, context.Cause(ctx)
		}
		return examplegen.Report{}, fmt.Errorf("%s: reading it ended a process (%w): the file is damaged, or its pages need more than %d GiB", path, err, tableMemory>>30)
	}
	answer := filepath.Join(folder, tableAnswerFile)
	text, err := os.ReadFile(answer)
	if err != nil {
		return examplegen.Report{}, err
	}
	var a tableAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		return examplegen.Report{}, err
	}
	if a.Error != "" {
		return examplegen.Report{}, errors.New(a.Error)
	}
	return a.Report, os.Remove(answer)
}
