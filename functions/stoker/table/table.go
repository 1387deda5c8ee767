// Package table converts tables into Examples, in a child process with a memory limit.
package table

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"

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

// Examples are those made from a table, in a temporary folder.
type Examples struct {
	Folder  string
	table   string // path
	options examplegen.Options
}

// Convert converts a table, and prints what in it is probably not meant. Remove the Examples after
// use.
func Convert(ctx context.Context, a *app.App, path string, split SplitFlags) (*Examples, error) {
	o, err := split.options()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "stoker-examples-")
	if err != nil {
		return nil, err
	}
	e := &Examples{folder, path, o}
	report, err := convertTable(ctx, path, folder, o)
	if err != nil {
		e.Remove()
		return nil, err
	}
	for _, note := range report.Notes {
		fmt.Fprintln(a.Notes(), note)
	}
	a.Logger().Info("table converted to Examples", "table", path, "records", report.Splits, "features", len(report.Columns))
	return e, nil
}

// Remove removes the folder. It does nothing for nil.
func (e *Examples) Remove() {
	if e != nil {
		_ = os.RemoveAll(e.Folder) // a temporary folder
	}
}

// badRecord is how an error names a record of the Examples; see example.Error.
var badRecord = regexp.MustCompile(`bad record (\d+) in (?:(\S*)/)?Split-([A-Za-z0-9_-]+)/data_tfrecord-00000-of-00001\.gz`)

// Explain names line or row of the table in an error about a record of its Examples. It returns
// other errors as they are, and all of them if e is nil.
func (e *Examples) Explain(ctx context.Context, err error) error {
	if e == nil || err == nil {
		return err
	}
	text := err.Error()
	at := badRecord.FindStringSubmatchIndex(text)
	if at == nil || at[4] >= 0 && text[at[4]:at[5]] != e.Folder {
		return err
	}
	record, wrong := strconv.ParseInt(text[at[2]:at[3]], 10, 64)
	if wrong != nil {
		return err
	}
	place, wrong := locateRecord(ctx, e.table, e.Folder, e.options, text[at[6]:at[7]], record)
	if wrong != nil {
		return err // the table was changed, or can't be read a second time
	}
	return explained{text[:at[0]] + place + text[at[1]:], err}
}

// explained is an error with another text.
type explained struct {
	text string
	error
}

func (e explained) Error() string { return e.text }
func (e explained) Unwrap() error { return e.error }
