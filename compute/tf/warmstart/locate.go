package warmstart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// place is a location of weights: a SavedModel, or a checkpoint without one.
type place struct {
	model  string // folder of a SavedModel, "" for a checkpoint
	prefix string // of its bundle
}

func (p place) path() string {
	if p.model != "" {
		return p.model
	}
	return p.prefix
}

func (p place) open() (*Source, error) {
	b, err := tensorbundle.Open(p.prefix)
	if err != nil {
		return nil, err
	}
	s := &Source{Path: p.path(), bundle: b}
	var model *savedModel
	if p.model != "" {
		if model, err = readModel(p.model); err != nil {
			return nil, err
		}
	}
	if s.Tensors, err = listTensors(p, b, model); err != nil {
		return nil, err
	}
	if model != nil {
		s.rows = model.rows(s.Tensors)
		s.Classes, err = savedmodel.ReadClasses(p.model)
	}
	return s, err
}

// locate finds weights at a path, in the order of Open's list.
func locate(path string) (place, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkpointAt(path, err)
	case err != nil:
		return place{}, err
	case !info.IsDir():
		return fileAt(path)
	}
	dir, err := Serving(path)
	if err != nil {
		return place{}, err
	}
	if isFile(filepath.Join(dir, "saved_model.pb")) {
		return savedModelAt(dir)
	}
	return folderAt(dir)
}

func savedModelAt(dir string) (place, error) {
	p := place{model: dir, prefix: filepath.Join(dir, "variables", "variables")}
	if !isFile(p.prefix + ".index") {
		return place{}, fmt.Errorf("SavedModel %s has no variables", dir)
	}
	return p, nil
}

// folderAt searches a checkpoint, or weights that can't be read.
func folderAt(dir string) (place, error) {
	if isFile(filepath.Join(dir, "checkpoint")) {
		return newestIn(dir)
	}
	var prefixes []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return place{}, err
	}
	for _, entry := range entries {
		if prefix, ok := strings.CutSuffix(entry.Name(), ".index"); ok {
			prefixes = append(prefixes, filepath.Join(dir, prefix))
		}
		if err := refuseFormat(filepath.Join(dir, entry.Name())); err != nil {
			return place{}, err
		}
	}
	if len(prefixes) != 1 {
		return place{}, fmt.Errorf("holds neither Format-Serving nor saved_model.pb, and %d checkpoints; expected one of these", len(prefixes))
	}
	return place{prefix: prefixes[0]}, nil
}

// fileAt handles a path that names a file instead of a directory or a prefix.
func fileAt(path string) (place, error) {
	dir, name := filepath.Split(path)
	if name == "saved_model.pb" {
		return savedModelAt(filepath.Clean(dir))
	}
	if prefix, ok := strings.CutSuffix(path, ".index"); ok {
		return place{prefix: prefix}, nil
	}
	if err := refuseFormat(path); err != nil {
		return place{}, err
	}
	return checkpointAt(path, errors.New("neither a SavedModel nor a checkpoint"))
}

// checkpointAt uses path as a prefix; otherwise is the error if it isn't one.
func checkpointAt(path string, otherwise error) (place, error) {
	if isFile(path + ".index") {
		return place{prefix: path}, nil
	}
	if isFile(path + ".meta") {
		return place{}, fmt.Errorf("%s is a checkpoint of TensorFlow's format V1, of before 2016: save it with tf.compat.v1.train.Saver()", path)
	}
	return place{}, otherwise
}

// refuseFormat returns an error that names another format of weights.
func refuseFormat(path string) error {
	switch filepath.Ext(path) {
	case ".keras":
		return fmt.Errorf("%s is a zip in Keras's own format, which isn't read: load it with tf.keras.models.load_model, and save it "+
			"with model.export(folder)", filepath.Base(path))
	case ".h5", ".hdf5":
		return fmt.Errorf("%s is HDF5, which isn't read: load it into its model with Keras, and save that with model.export(folder), "+
			"or its weights with tf.train.Checkpoint(model=model).write(prefix)", filepath.Base(path))
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
