package modelcheck

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/compute/tensorflow"
)

// checkGraph refuses operations outside of those that models need, in each SavedModel below the folder of a graph.
func checkGraph(g Graph, extra []string) error {
	var models []string
	err := filepath.WalkDir(g.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{"saved_model.pb", "saved_model.pbtxt"}, entry.Name()) {
			models = append(models, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, dir := range models {
		if err := tensorflow.CheckOps(dir, extra); err != nil {
			name, relative := filepath.Rel(g.Dir, dir)
			return errors.Join(fmt.Errorf("%s: %w", name, err), relative)
		}
	}
	return nil
}
