package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/compute/data/examplegen"
	"github.com/stoker-ml/stoker/compute/data/schemagen"
	"github.com/stoker-ml/stoker/functions/inspect"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// tableHelp says what is made of a table.
const tableHelp = "A table (" + examplegen.Formats + ") becomes Examples as TFX's CsvExampleGen makes them: the first row of a CSV file names the columns, a\n" +
	"type is that of all cells of a column, an empty cell is a missing value, and two of three rows are train, by a hash of the row.\n" +
	"A Parquet file becomes what ParquetExampleGen makes of it: a column holds primitives or lists of them, a null is a missing value, and times are\n" +
	"microseconds since 1970. It is read in a process that has 8 GiB of memory, and 10 minutes and a second for each 256 KiB."

// splitFlags say which row of a table goes to which split.
type splitFlags struct{ split, column string }

func (s *splitFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.split, "split", "", "splits of a table by hash and their shares; default: train:2,eval:1")
	flags.StringVar(&s.column, "split-column", "", "column of a table that names the split of each row")
}

func (s splitFlags) given() bool { return s.split != "" || s.column != "" }

// lacks is the error of a table that gets no rows in a split that a module is tried on.
func (s splitFlags) lacks(table, split string) error {
	const needed = "%s gets no split %s: a module is tried on the splits train and eval"
	switch {
	case s.column != "":
		return fmt.Errorf("--split-column: "+needed+", which have to be named in that column", table, split)
	case s.split != "":
		return fmt.Errorf("--split: "+needed+", as in train:2,eval:1", table, split)
	}
	return fmt.Errorf("--examples: "+needed+", and it has too few rows", table, split)
}

func (s splitFlags) options() (o examplegen.Options, err error) {
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

// examplesOf converts a table into a folder of Examples, which remove removes.
func (a *app) examplesOf(ctx context.Context, path string, split splitFlags) (folder string, remove func(), err error) {
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
	a.logger().Info("made Examples of a table", "table", path, "records", report.Splits, "features", len(report.Columns))
	return folder, remove, nil
}

// tryTable replaces a table in --examples by Examples and, where there is none, by the schema of these. What it makes is gone after
// remove.
func (a *app) tryTable(ctx context.Context, t *tryFlags) (remove func(), err error) {
	remove = func() {}
	if info, err := os.Stat(t.examples); err != nil || info.IsDir() {
		if t.split.given() && err == nil {
			return remove, exit.Usage(fmt.Errorf("--split and --split-column are for tables, and %s is a folder", t.examples))
		}
		return remove, nil // a folder that is missing is named later
	}
	switch {
	case !examplegen.Known(t.examples):
		return remove, exit.Usage(fmt.Errorf("--examples %s: expected a folder with Split-train and Split-eval, or a table (%s)", t.examples, examplegen.Formats))
	case t.assignmentOnly:
		return remove, exit.Usage(fmt.Errorf("--assignment: the Examples that %s becomes are gone when this command ends", t.examples))
	case t.transformGraph != "" && !t.raw:
		return remove, exit.Usage(fmt.Errorf("--examples %s: a table has raw examples: give --raw with --transform-graph", t.examples))
	}
	folder, remove, err := a.examplesOf(ctx, t.examples, t.split)
	if err != nil {
		return remove, err
	}
	for _, split := range []string{"train", "eval"} {
		if _, err := os.Stat(filepath.Join(folder, "Split-"+split)); err != nil {
			remove()
			return func() {}, exit.Usage(t.split.lacks(t.examples, split))
		}
	}
	t.examples = folder
	if t.schema == "" && t.transformGraph == "" {
		err = t.inferSchema(ctx, folder)
	}
	if err != nil {
		remove()
		return func() {}, err
	}
	return remove, nil
}

func (t *tryFlags) inferSchema(ctx context.Context, folder string) error {
	source, err := inspect.Local(folder)
	if err != nil {
		return err
	}
	inferred, err := inferFrom(ctx, source, schemagen.Options{MaxStringDomain: schemagen.DefaultMaxStringDomain})
	if err != nil {
		return err
	}
	t.schema = filepath.Join(folder, schemaFile)
	return os.WriteFile(t.schema, []byte(inferred.Schema), 0o644)
}
