package trainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/savedmodel"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// CheckModel refuses what a training left in the folder of its model. A SavedModel must be one that can be served. A
// model of another kind passes where the pipeline takes any: there must be something in it, and nobody here can say
// whether that is any good.
func CheckModel(serving, wanted string) error {
	name := filepath.Base(serving)
	found, err := survey(serving)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case found.files == 0:
		return fmt.Errorf("run_fn failed to generate model. %s holds no file", name) // so says TFX where that folder is missing
	case found.saved:
		if err := savedmodel.Check(serving); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	case wanted != pipeline.ModelAny:
		return fmt.Errorf("%s holds no saved_model.pb but %s: for a model that is no SavedModel set trainer.model: any",
			name, found.first)
	case found.bytes == 0:
		return fmt.Errorf("run_fn failed to generate model. %s holds only empty files", name)
	}
	return nil
}

// left is what lies in a model's folder.
type left struct {
	saved bool   // a SavedModel, by its file
	first string // of the files
	files int
	bytes int64
}

func survey(dir string) (left, error) {
	var found left
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if found.files == 0 {
			found.first, err = filepath.Rel(dir, path)
		}
		found.files, found.bytes = found.files+1, found.bytes+info.Size()
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	found.saved = isSaved(dir)
	return found, err
}

// isSaved says whether a folder means to be a SavedModel.
func isSaved(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "saved_model.pb"))
	return err == nil
}
