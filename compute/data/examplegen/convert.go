package examplegen

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

const (
	maxColumns  = 10_000
	maxRowBytes = 16 << 20
	maxRows     = 1 << 31
	maxSplits   = 100

	maxCellShown = 40 // bytes
)

// Split is one split and its share of the rows.
type Split struct {
	Name    string
	Buckets int // of all buckets
}

// Options determine which row goes to which split. The zero value is train:2,eval:1.
type Options struct {
	Splits []Split // by hash; empty for train:2,eval:1
	// Instead, a column with the name of each row's split, which does not become a feature.
	Column string

	// Of all Examples, before compression; 0 for 1 GiB or a thousand times the file, whichever is
	// more.
	MaxBytes int64
}

// Report is the result of a conversion.
type Report struct {
	Splits  map[string]int64  // records by split
	Columns map[string]string // type by feature: int64, float, string, or "" if all cells are empty
	Notes   []string          `json:",omitempty"` // what is probably not meant, for the user
}

// Error is an error at a position of a file.
type Error struct {
	File   string
	Line   int    // from 1; 0 for none
	Row    int64  // from 1, of a Parquet file; 0 for none
	Column string // "" for none
	Err    error  // nil from Locate
}

func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Row > 0 {
		s += fmt.Sprintf(", row %d", e.Row)
	}
	if e.Column != "" {
		s += fmt.Sprintf(", column %q", e.Column)
	}
	if e.Err == nil {
		return s
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Is makes every Error an example.ErrInput.
func (e *Error) Is(target error) bool { return target == example.ErrInput }

// column is one column of a table.
type column struct {
	name string
	kind example.Kind // 0: all cells are empty
}

// Formats lists the extensions that Known accepts, for messages.
const Formats = ".csv or .parquet"

// Known reports whether Convert reads files of this name.
func Known(path string) bool { return strings.EqualFold(filepath.Ext(path), ".csv") || Unbounded(path) }

// Unbounded reports whether Convert can't limit the memory that a damaged file of this name needs:
// Parquet pages may claim and unpack to any size. Such a file is for a process with a limit.
func Unbounded(path string) bool { return strings.EqualFold(filepath.Ext(path), ".parquet") }

// table is a file that can be converted.
type table interface {
	// columns returns the columns in the order of the file.
	columns() []column
	// notes returns what is probably not meant in the file, a sentence each.
	notes() []string
	// rows builds a record from the features of each row, in that order, and calls take with it
	// and, unless split is negative, with the name in that column.
	rows(ctx context.Context, features []int, split int, take func(b *example.Builder, split string) error) error
}

func open(ctx context.Context, path string) (table, error) {
	if Unbounded(path) {
		return openParquet(path)
	}
	return openCSV(ctx, path)
}

var splitName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// ParseSplits reads name:buckets,name:buckets.
func ParseSplits(text string) (splits []Split, err error) {
	for _, part := range strings.Split(text, ",") {
		var s Split
		name, count, _ := strings.Cut(part, ":")
		if _, err := fmt.Sscanf(count, "%d", &s.Buckets); err != nil || fmt.Sprint(s.Buckets) != count {
			return nil, fmt.Errorf("%q: expected name:buckets like train:2,eval:1", part)
		}
		s.Name = name
		splits = append(splits, s)
	}
	return splits, Options{Splits: splits}.check()
}

func (o Options) check() error {
	seen := map[string]bool{}
	for _, s := range o.Splits {
		switch {
		case !splitName.MatchString(s.Name):
			return fmt.Errorf("split %q: expected a name of letters, digits, - and _", s.Name)
		case s.Buckets < 1 || s.Buckets > 1_000_000:
			return fmt.Errorf("split %s: %d buckets, expected 1 to 1000000", s.Name, s.Buckets)
		case seen[s.Name]:
			return fmt.Errorf("split %s is named twice", s.Name)
		}
		seen[s.Name] = true
	}
	if len(o.Splits) > maxSplits {
		return fmt.Errorf("%d splits, expected at most %d", len(o.Splits), maxSplits)
	}
	if len(o.Splits) > 0 && o.Column != "" {
		return errors.New("splits by hash and by column: expected one of them")
	}
	return nil
}

// splits returns those by hash.
func (o Options) splits() []Split {
	if len(o.Splits) == 0 {
		return []Split{{"train", 2}, {"eval", 1}}
	}
	return o.Splits
}

// Convert writes the Examples of a file below dir, which must not exist or be empty:
// Split-<name>/data_tfrecord-00000-of-00001.gz for each split. It leaves the files that it has
// written if it fails. Errors about the data are *Error.
func Convert(ctx context.Context, path, dir string, o Options) (r Report, err error) {
	if err := o.check(); err != nil {
		return r, err
	}
	t, err := open(ctx, path)
	if err != nil {
		return r, err
	}
	features, split, err := layout(path, t.columns(), o.Column)
	if err != nil {
		return r, err
	}
	most, err := o.maxBytes(path)
	if err != nil {
		return r, err
	}
	w := &writer{path: path, dir: dir, splits: o.splits(), files: map[string]*tfrecord.Writer{}, counts: map[string]int64{}, most: most}
	if o.Column == "" {
		for _, s := range w.splits { // also those without any row
			if _, err := w.file(s.Name); err != nil {
				return r, errors.Join(err, w.close())
			}
		}
	}
	err = t.rows(ctx, features, split, w.take)
	if err = errors.Join(err, w.close()); err != nil {
		return r, err
	}
	r = Report{Splits: w.counts, Columns: map[string]string{}, Notes: t.notes()}
	for _, i := range features {
		c := t.columns()[i]
		r.Columns[c.name] = ""
		if c.kind != 0 {
			r.Columns[c.name] = c.kind.String()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		if w.counts[name] == 0 {
			return r, &Error{File: path, Err: fmt.Errorf("no row falls into split %s: there are too few rows", name)}
		}
	}
	if len(w.counts) == 0 {
		return r, &Error{File: path, Err: errors.New("no rows")}
	}
	return r, nil
}

// Locate returns where a record of Convert comes from: an Error without Err, with the file and the
// line or row. The record is a number from 0 in the file of its split. It reads the table up to
// there.
func Locate(ctx context.Context, path string, o Options, split string, record int64) (*Error, error) {
	t, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	features, column, err := layout(path, t.columns(), o.Column)
	if err != nil {
		return nil, err
	}
	w := &writer{splits: o.splits()}
	found := errors.New("found")
	err = t.rows(ctx, features, column, func(b *example.Builder, name string) error {
		if name == "" {
			name = w.hashed(b.Build())
		}
		if name != split {
			return nil
		}
		if record--; record < 0 {
			return found
		}
		return nil
	})
	if at, ok := errors.AsType[*Error](err); ok && errors.Is(err, found) {
		at.Err = nil
		return at, nil
	}
	return nil, cmp.Or(err, fmt.Errorf("%s: no such record of split %s", path, split))
}

// maxBytes returns the limit of the output: a few bytes can stand for very many.
func (o Options) maxBytes(path string) (int64, error) {
	if o.MaxBytes > 0 {
		return o.MaxBytes, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return max(1<<30, 1000*min(info.Size(), math.MaxInt64/1000)), nil
}

// layout checks the columns, and returns those that become features sorted by name, as TFX
// serializes them.
func layout(path string, columns []column, splitColumn string) (features []int, split int, err error) {
	split = -1
	seen := map[string]bool{}
	for i, c := range columns {
		switch {
		case c.name == "":
			err = fmt.Errorf("column %d has no name", i+1)
		case seen[c.name]:
			err = fmt.Errorf("two columns are named %q", c.name)
		case i >= maxColumns:
			err = fmt.Errorf("more than %d columns", maxColumns)
		}
		if err != nil {
			return nil, 0, &Error{File: path, Line: 1, Err: err}
		}
		seen[c.name] = true
		if c.name == splitColumn {
			split = i
			continue
		}
		features = append(features, i)
	}
	if splitColumn != "" && split < 0 {
		return nil, 0, &Error{File: path, Err: fmt.Errorf("there is no column %q to split by", splitColumn)}
	}
	if len(features) == 0 {
		return nil, 0, &Error{File: path, Err: errors.New("there is no column that becomes a feature")}
	}
	slices.SortFunc(features, func(a, b int) int { return cmp.Compare(columns[a].name, columns[b].name) })
	return features, split, nil
}

// writer writes each record to its split.
type writer struct {
	path   string // of the table
	dir    string
	splits []Split
	files  map[string]*tfrecord.Writer
	counts map[string]int64

	bytes, most int64 // of all records
}

func (w *writer) take(b *example.Builder, split string) error {
	data := b.Build()
	if w.bytes += int64(len(data)); w.bytes > w.most {
		return &Error{File: w.path, Err: fmt.Errorf("more than %d bytes of Examples: "+
			"its values repeat beyond reason; if they are meant, cut the file into several", w.most)}
	}
	if split == "" {
		split = w.hashed(data)
	} else if !splitName.MatchString(split) {
		return fmt.Errorf("split %q: expected a name of letters, digits, - and _", split)
	}
	f, err := w.file(split)
	if err != nil {
		return err
	}
	w.counts[split]++
	return f.Append(data)
}

// hashed returns the split of a record by the buckets of all splits, one after another.
func (w *writer) hashed(data []byte) string {
	sum, all := sha256.Sum256(data), int64(0)
	for _, s := range w.splits {
		all += int64(s.Buckets)
	}
	bucket := new(big.Int).Mod(new(big.Int).SetBytes(sum[:]), big.NewInt(all)).Int64()
	for _, s := range w.splits {
		if bucket -= int64(s.Buckets); bucket < 0 {
			return s.Name
		}
	}
	panic("a bucket beyond all splits")
}

func (w *writer) file(split string) (*tfrecord.Writer, error) {
	if f := w.files[split]; f != nil {
		return f, nil
	}
	if len(w.files) >= maxSplits {
		return nil, fmt.Errorf("more than %d splits", maxSplits)
	}
	dir := filepath.Join(w.dir, "Split-"+split)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := tfrecord.Create(filepath.Join(dir, "data_tfrecord-00000-of-00001.gz"))
	if err == nil {
		w.files[split] = f
	}
	return f, err
}

func (w *writer) close() (err error) {
	for _, f := range w.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
