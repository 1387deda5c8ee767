package tfevents

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Series is what one run logged under one tag, in the order of the files.
type Series struct {
	Tag    string
	Kind   Kind
	Plugin string
	Points []Point
	// Each point represents so many: more than 1 if there were too many to keep; the last one is
	// always kept.
	Every int
	Count int // number of all points, approximately if Every is more than 1

	pending int // points since the last one that is kept permanently
}

// Point is one logged value. The Tag and Plugin of its Value are left out: the Series has them.
type Point struct {
	Step int64
	Time time.Time
	Value
}

// How many points of a series are kept. TensorBoard keeps 1000 scalars and 500 histograms.
const (
	maxScalars = 10_001
	maxOthers  = 501
)

func (s *Series) limit() int {
	if s.Kind == KindScalar {
		return maxScalars
	}
	return maxOthers
}

// add keeps every point while there is capacity, else every second of those, and the last one.
func (s *Series) add(p Point) {
	s.Every = max(s.Every, 1)
	s.Count++
	if s.pending > 0 {
		s.Points = s.Points[:len(s.Points)-1] // it was kept as the last one only
	}
	s.Points = append(s.Points, p)
	s.pending = (s.pending + 1) % s.Every
	if s.pending == 0 && len(s.Points) >= s.limit() {
		s.thin()
	}
}

// thin leaves out every second point except the last: limits are odd.
func (s *Series) thin() {
	half := (len(s.Points) + 1) / 2
	for i := range half {
		s.Points[i] = s.Points[2*i]
	}
	clear(s.Points[half:])
	s.Points = s.Points[:half]
	s.Every *= 2
}

// void removes what was logged at or after a step.
func (s *Series) void(from int64) {
	before := len(s.Points)
	s.Points = slices.DeleteFunc(s.Points, func(p Point) bool { return p.Step >= from })
	if removed := before - len(s.Points); removed > 0 {
		s.Count = max(s.Count-removed*s.Every, len(s.Points))
		s.pending = 0
	}
}

// Last returns the last point.
func (s *Series) Last() Point { return s.Points[len(s.Points)-1] }

// maxFiles is how many event files a run may have before a resumed training merges them: each
// interruption adds one, and their number is unlimited.
const maxFiles = 16

// merge merges the event files of a run if there are many: into the first, with the events of all
// others after its own. That does not change their meaning, because none of their sessions voids
// anything (see Training.writer), and what is kept under the first one's name still begins as it
// did.
func (t *Training) merge(run string) error {
	var paths []string
	for path := range t.state.Files {
		if filepath.Dir(path) == run {
			paths = append(paths, path)
		}
	}
	if len(paths) <= maxFiles {
		return nil
	}
	slices.SortFunc(paths, strings.Compare)
	first := filepath.Join(t.o.Dir, paths[0])
	err := replace(first, func(out io.Writer) error {
		for _, path := range paths {
			if err := copyTo(out, filepath.Join(t.o.Dir, path)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, path := range paths[1:] {
		if err == nil {
			err = os.Remove(filepath.Join(t.o.Dir, path))
		}
	}
	return err
}

func copyTo(out io.Writer, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close())
}
