package savedmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// classesFile is where a model says what its classes are: a JSON list of strings. assets.extra is
// the folder of a SavedModel that TensorFlow leaves to others and does not load (its
// saved_model/README.md).
const classesFile = "assets.extra/classes.json"

// maxClassesBytes bounds what is read of that file.
const maxClassesBytes = 64 << 20

// writeClasses writes what the classes are, if that is known.
func (b *builder) writeClasses(dir string) error {
	if b.model.ClassNames == nil {
		return nil
	}
	text, err := json.Marshal(b.model.ClassNames)
	name := filepath.Join(dir, classesFile)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("names of classes: %w", err)
	}
	return nil
}

// ReadClasses are the ClassNames with which the SavedModel in dir was written; nil if it doesn't
// say any.
func ReadClasses(dir string) ([]string, error) {
	name := filepath.Join(dir, classesFile)
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > maxClassesBytes {
		err = fmt.Errorf("has %d bytes, more than %d", info.Size(), maxClassesBytes)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(name)
	}
	var names []string
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", classesFile, err)
	}
	return names, nil
}
