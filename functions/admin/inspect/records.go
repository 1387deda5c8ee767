package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// Splits returns the names of the splits of Examples in the order in which TFX processes them:
// train, eval, then all others by name. A file, and a directory without Split-<name>, has one
// split, "".
func (s *Source) Splits() []string {
	names := s.splits()
	rank := func(name string) int {
		if i := slices.Index([]string{"train", "eval"}, name); i >= 0 {
			return i
		}
		return 2
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// EachRecord calls take with each record of a split, file by file in the order of their names. The
// bytes are valid during the call. An error of take ends it; an *example.Error gets the file's name
// and, as its record, the number in that file.
func (s *Source) EachRecord(ctx context.Context, split string, take func(data []byte) error) error {
	part := s
	if split != "" {
		part = s.below(splitPrefix + split)
	}
	for _, f := range part.Files {
		if base := path.Base(f.Path); strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			continue
		}
		if err := part.eachRecord(ctx, f, take); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) eachRecord(ctx context.Context, f File, take func(data []byte) error) error {
	in, err := s.Open(ctx, f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	name := strings.TrimSuffix(s.Name, "/") + "/" + f.Path
	if s.single {
		name = s.Name
	}
	r := tfrecord.NewReader(name, in)
	for number := int64(0); ; number++ {
		data, err := r.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read Examples: %w", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if err := take(data); err != nil {
			if bad, ok := errors.AsType[*example.Error](err); ok {
				bad.File, bad.Record = name, number
			}
			return err
		}
	}
}
