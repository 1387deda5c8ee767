package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Format is an export format besides the SavedModel.
type Format struct {
	Name   string // as pipelines ask for it
	Folder string // in the Model artifact, named as TFX names them
	File   string // in the folder

	// holds says whether the format has words for an op. What it can't hold is left out of its part
	// of the model.
	holds func(op nn.Op) bool
	// write makes the file.
	write func(ctx context.Context, path string, p Part) error
	// check says what is wrong with a file, whoever wrote it.
	check func(path string) error
}

// formats are all there are. Those of one folder share its inputs.json, and must have the same
// inputs.
var formats = []Format{
	tfliteFormat("tflite", "model.tflite", tflite.Float32),
	tfliteFormat("tflite-float16", "model-float16.tflite", tflite.Float16),
	tfliteFormat("tflite-int8", "model-int8.tflite", tflite.Int8),
	onnxFormat("onnx", "model.onnx"),
}

// Formats are the formats that may be asked for.
func Formats() []Format { return slices.Clone(formats) }

// named finds the formats asked for.
func named(names []string) ([]Format, error) {
	var found []Format
	for _, name := range names {
		i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no such format: %q, expected some of %s", name, strings.Join(allNames(), ", "))
		}
		found = append(found, formats[i])
	}
	return found, nil
}

func allNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Check says which of the formats asked for is not in dir, the folder of a Model artifact, or can't
// be read. It names all of them.
func Check(dir string, names []string) error {
	asked, err := named(names)
	for _, f := range asked {
		err = errors.Join(err, f.checkIn(dir))
	}
	return err
}

func (f Format) checkIn(dir string) error {
	place := filepath.Join(dir, f.Folder, f.File)
	info, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was asked for, but the module left no %s", f.Name, filepath.Join(f.Folder, f.File))
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("is no regular file")
	case err == nil && info.Size() == 0:
		err = errors.New("is empty")
	case err == nil:
		err = f.check(place)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", f.Name, filepath.Join(f.Folder, f.File), err)
	}
	return nil
}
