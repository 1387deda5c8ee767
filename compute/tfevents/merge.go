package tfevents

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFiles is how many event files a run may have before a training that goes on makes one of them:
// each interruption adds one, and there is no limit to interruptions.
const maxFiles = 16

// merge makes one file of the event files of a run where there are many: the first, with the events
// of all others behind its own. That changes nothing of what they say, since no session of theirs
// voids anything (see Training.writer), and what is kept under the first one's name still begins as
// it did.
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
