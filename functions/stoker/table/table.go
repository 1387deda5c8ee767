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
const TableHelp = "A table (" + examplegen.Formats + ") is converted to Examples as TFX's CsvExampleGen does: the first row of a CSV file names the columns, a\n" +
	"column's type fits all its cells, an empty cell is a missing value, and a hash of each row puts two of three rows into train.\n" +
	"A Parquet file is converted as ParquetExampleGen does: a column holds primitives or lists of them, a null is a missing value, and times are\n" +
	"microseconds since 1970. The process that reads it has 8 GiB of memory, and 10 minutes plus a second for each 256 KiB."

// SplitFlags select the split of each row of a table.
type SplitFlags struct{ split, column string }

func (s *SplitFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&s.split, "split", "", "splits of a table by hash and their shares; default: train:2,eval:1")
	flags.StringVar(&s.column, "split-column", "", "column of a table that names the split of each row")
}

func (s SplitFlags) Given() bool { return s.split != "" || s.column != "" }

// Lacks returns the error for a table without rows in a split that a module needs.
func (s SplitFlags) Lacks(table, split string) error {
	const needed = "%s gives no split %s: trying a module needs the splits train and eval"
	switch {
	case s.column != "":
		return fmt.Errorf("--split-column: "+needed+": name both in that column", table, split)
	case s.split != "":
		return fmt.Errorf("--split: "+needed+", as in train:2,eval:1", table, split)
	}
	return fmt.Errorf("--examples: "+needed+": it has too few rows", table, split)
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
	a.Logger().Info("table converted to Examples", "table", path, "records", report.Splits, "features", len(report.Columns))
	return folder, remove, nil
}
