package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// Examples is the content of an Examples artifact.
type Examples struct {
	Splits []Split `json:"splits"`
	Mixed  []Mixed `json:"mixed_types,omitempty"`
}

// Mixed is a feature that has different types in different splits.
type Mixed struct {
	Name  string            `json:"name"`
	Types map[string]string `json:"types"` // by the name of the split
}

// Split is one split of an Examples artifact.
type Split struct {
	Name        string `json:"name"` // "" for files that are in no split
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	Compression string `json:"compression"` // gzip or none
	Payload     string `json:"payload"`     // tf.Example, tf.SequenceExample, or unknown
	Records     int64  `json:"records"`
	Complete    bool   `json:"complete"` // false: the limit was reached, and there are more records
	Read        int64  `json:"read"`     // bytes of files that were read
	// Number of records that are neither a tf.Example nor a tf.SequenceExample.
	Malformed int64 `json:"malformed,omitempty"`
	// Position of the first of them: file and number, from 0.
	FirstBad string `json:"first_malformed,omitempty"`
	// Number of files that are not valid TFRecord from some position on: the records before that
	// are counted.
	Damaged     int       `json:"damaged,omitempty"`
	FirstDamage string    `json:"first_damage,omitempty"` // the first such error
	Features    []Feature `json:"features"`               // according to the first records
	Rows        []Row     `json:"rows,omitempty"`
}

// Feature describes a feature according to the first records of a split.
type Feature struct {
	Name string `json:"name"`
	Type string `json:"type"` // bytes, float, int64; empty if no record has a value
	// Type of values of another type, if there are any.
	Other string `json:"other_type,omitempty"`
	// Position of the first of these: file and number, from 0.
	OtherAt  string `json:"other_at,omitempty"`
	Sequence bool   `json:"sequence,omitempty"`
	Present  int    `json:"present"`    // number of records that have it
	Of       int    `json:"of"`         // number of records that were examined
	Min      int    `json:"min_values"` // values in a record that has the feature
	Max      int    `json:"max_values"`
}

// looked is how many records are read to find the features.
const looked = 100

// maxFeatures is how many features are reported.
const maxFeatures = 10_000

func inspectExamples(ctx context.Context, s *Source, o Options) (*Examples, error) {
	e := &Examples{}
	budget := o.budget()
	for _, name := range s.splits() {
		if o.Split != "" && name != o.Split {
			continue
		}
		split, err := s.split(ctx, name, o.Rows, budget)
		if err != nil {
			return nil, err
		}
		e.Splits = append(e.Splits, split)
	}
	if len(e.Splits) == 0 {
		return nil, fmt.Errorf("split %q: expected one of %s", o.Split, strings.Join(s.splits(), ", "))
	}
	e.Mixed = mixedTypes(e.Splits)
	return e, nil
}

// mixedTypes returns the features whose values are of different types in different splits.
func mixedTypes(splits []Split) (mixed []Mixed) {
	types := map[string]map[string]string{}
	for _, split := range splits {
		for _, f := range split.Features {
			if f.Type == "" {
				continue
			}
			if types[f.Name] == nil {
				types[f.Name] = map[string]string{}
			}
			types[f.Name][split.Name] = f.Type
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		all := slices.Collect(maps.Values(types[name]))
		if slices.ContainsFunc(all, func(t string) bool { return t != all[0] }) {
			mixed = append(mixed, Mixed{name, types[name]})
		}
	}
	return mixed
}

// damage returns the error of the splits that have damaged files, nil if none have.
func (e *Examples) damage() error {
	var errs []error
	for _, s := range e.Splits {
		if s.Damaged > 0 {
			errs = append(errs, fmt.Errorf("split %s: %s", s.name(), s.damageText()))
		}
	}
	return errors.Join(errs...)
}

func (s Split) damageText() string {
	text := s.FirstDamage
	if s.Damaged > 1 {
		text += fmt.Sprintf(" (and %s more)", plural(s.Damaged-1, "damaged file"))
	}
	return text
}

// splits returns the names of the splits of a directory, "" for one without.
func (s *Source) splits() (names []string) {
	last := ""
	for _, f := range s.Files {
		folder, _, ok := strings.Cut(f.Path, "/")
		name, isSplit := strings.CutPrefix(folder, splitPrefix)
		if ok && isSplit && name != last {
			names, last = append(names, name), name
		}
	}
	if names == nil {
		return []string{""}
	}
	return names
}

func (s *Source) split(ctx context.Context, name string, rows int, budget *budget) (Split, error) {
	part := s
	if name != "" {
		part = s.below(splitPrefix + name)
	}
	split := Split{Name: name, Complete: true, Bytes: part.Bytes(), Files: len(part.Files)}
	l := &looker{split: &split, rows: rows, budget: budget}
	before := budget.read
	for _, f := range part.Files {
		if base := path.Base(f.Path); strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			split.Files, split.Bytes = split.Files-1, split.Bytes-f.Bytes
			continue
		}
		if err := l.file(ctx, part, f); tfrecord.Corrupt(err) {
			if split.Damaged++; split.Damaged == 1 {
				split.FirstDamage = err.Error()
			}
		} else if err != nil {
			return split, err
		}
		if !split.Complete {
			break
		}
	}
	split.Features, split.Read = l.features.list(), budget.read-before
	return split, nil
}

// looker reads the records of a split.
type looker struct {
	split    *Split
	rows     int
	budget   *budget
	features featureSet
}

func (l *looker) file(ctx context.Context, s *Source, f File) error {
	in, err := s.Open(ctx, f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	r := tfrecord.NewReader(f.Path, l.budget.reader(in))
	err = l.records(ctx, r, f.Path)
	if l.split.Compression == "" {
		l.split.Compression = compression(r)
	}
	return err
}

func compression(r *tfrecord.Reader) string {
	if r.Gzip() {
		return "gzip"
	}
	return "none"
}

func (l *looker) records(ctx context.Context, r *tfrecord.Reader, file string) error {
	for number := 0; ; number++ {
		data, err := r.Next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, errLimit):
			l.split.Complete = false
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		l.look(data, fmt.Sprintf("%s, record %d", file, number))
		l.split.Records++
	}
}

// Limits of FirstFeatures.
const (
	firstRecords     = 20
	firstRecordBytes = 1 << 20 // of one record, uncompressed
)

// FirstFeatures returns the features of the first records of a TFRecord file, of which it reads at
// most limit bytes, and how many records these are. It decodes no more records once they have limit
// bytes uncompressed. Of a file whose first record is neither a
// tf.Example nor a tf.SequenceExample it returns 0 records; of one that is no TFRecord, an error.
func FirstFeatures(name string, in io.Reader, limit int64) (features []Feature, records int, err error) {
	r := tfrecord.NewReader(name, Options{Limit: limit}.budget().reader(in))
	r.Limit(firstRecordBytes)
	var set featureSet
	for decoded := int64(0); set.rows < firstRecords && decoded < limit; {
		data, err := r.Next()
		if err != nil && set.rows == 0 && err != io.EOF && !errors.Is(err, errLimit) && !errors.Is(err, tfrecord.ErrTooLong) {
			return nil, 0, err
		}
		if err != nil {
			break
		}
		decoded += int64(len(data))
		row, _ := decodeRow(data)
		if row == nil {
			break
		}
		set.add(row, "", true)
	}
	return set.list(), set.rows, nil
}

// look records what a record is. All records are read, because an invalid one or one of another
// type is a fault wherever it is.
func (l *looker) look(data []byte, at string) {
	row, payload := decodeRow(data)
	switch {
	case row == nil:
		if l.split.Malformed++; l.split.Malformed == 1 {
			l.split.FirstBad = at
		}
		if l.split.Payload == "" {
			l.split.Payload = payloadUnknown
		}
	case l.split.Payload == "", l.split.Payload == payloadUnknown, payload == payloadSequence:
		// Without lists a tf.SequenceExample can't be distinguished from a tf.Example.
		l.split.Payload = payload
	}
	l.features.add(row, at, l.split.Records < looked)
	if l.split.Records < int64(l.rows) {
		l.split.Rows = append(l.split.Rows, row)
	}
}
