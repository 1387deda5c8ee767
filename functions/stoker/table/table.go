// Package table converts tables into Examples, in a child process with a memory limit.
package table

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/compute/data/examplegen"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// TableHelp describes what is made from a table.
const TableHelp = "A table (" + examplegen.Formats + ") becomes Examples as TFX's CsvExampleGen makes them: the first row of a CSV file names the columns, a\n" +
	"type is that of all cells of a column, an empty cell is a missing value, and two of three rows are train, by a hash of the row.\n" +
	"A Parquet file becomes what ParquetExampleGen makes of it: a column holds primitives or lists of them, a null is a missing value, and times are\n" +
	"microseconds since 1970. It is read in a process that has 8 GiB of memory, and 10 minutes and a second for each 256 KiB."

// SplitFlags select the split of each row of a table.
type SplitFlags struct{ split, column string }

func (s *SplitFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&s.split, "split", "", "splits of a table by hash and their shares; default: train:2,eval:1")
	flags.StringVar(&s.column, "split-column", "", "column of a table that names the split of each row")
}

func (s SplitFlags) Given() bool { return s.split != "" || s.column != "" }

// Lacks returns the error for a table without rows in a split that a module needs.
func (s SplitFlags) Lacks(table, split string) error {
	const needed = "%s gets no split %s: a module is tried on the splits train and eval"
	switch {
	case s.column != "":
		return fmt.Errorf("--split-column: "+needed+", which have to be named in that column", table, split)
	case s.split != "":
		return fmt.Errorf("--split: "+needed+", as in train:2,eval:1", table, split)
	}
	return fmt.Errorf("--examples: "+needed+", and it has too few rows", table, split)
}

func (s SplitFlags) options() (o examplegen.Options, err error) {
	o.Column = s.column
	if s.split != "" && s.column != "" {
		return o, exit.Usage(errors.New("--split and --split-column: expected one of them"))
	}
	if s.split != "" {
		if o.Splits, err = examplegen.ParseSplits(s.split); err != nil {
			return o, exit.Usage(fmt.Errorf("--split: %w", err))
		}
	}
	return o, nil
}

// ExamplesOf converts a table into a folder of Examples, which remove removes.
func ExamplesOf(ctx context.Context, a *app.App, path string, split SplitFlags) (folder string, remove func(), err error) {
	o, err := split.options()
	if err != nil {
		return "", func() {}, err
	}
	folder, err = os.MkdirTemp("", "stoker-examples-")
	if err != nil {
		return "", func() {}, err
	}
	remove = func() { _ = os.RemoveAll(folder) } // a temporary folder
	report, err := convertTable(ctx, path, folder, o)
	if err != nil {
		remove()
		return "", func() {}, err
	}
	a.Logger().Info("made Examples of a table", "table", path, "records", report.Splits, "features", len(report.Columns))
	return folder, remove, nil
}
