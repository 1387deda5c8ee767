package warmstart

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// Source is a model, or a checkpoint, from which weights can be taken. It may be used from several
// goroutines.
type Source struct {
	// Path is where the weights were found: a SavedModel's folder, or a checkpoint's prefix.
	Path string

	// Tensors are its weights, in the order of the model's own objects: without optimizer slots,
	// counters and strings.
	Tensors []Weight

	// Classes are the names of the classes that it distinguishes, in the order of its logits, as in
	// ClassNames; nil if they aren't known. They are known for models that Stoker wrote.
	Classes []string

	bundle *tensorbundle.Bundle
	rows   map[string]Rows // by key
}

// Weight is one weight of a Source.
type Weight struct {
	Name  string // for users: dense/kernel, dnn/hiddenlayer_0/kernel
	Key   string // its key in the bundle
	DType string // as TensorFlow names it: DT_FLOAT
	Shape []int

	// Positional reports whether its name only counts weights of its kind, and may differ in a
	// model of the same shape: Keras counts layers per process, an Estimator numbers them.
	Positional bool

	object int32 // its number in the object graph, -1 where there is none
}

// Open finds the weights at path, which is one of
//
//   - a Model artifact of TFX: the SavedModel in Format-Serving, or in
//     Format-Serving/export/<exporter>/<version>, each the only one in its folder, as Estimators
//     wrote it; serving_model_dir in the place of Format-Serving, as it was called before TFX 0.29
//   - a SavedModel, of TensorFlow 1 or 2
//   - a checkpoint's folder, the newest one in it by its file "checkpoint", or the prefix of one:
//     model.ckpt-1000
//
// Weights in another format are refused, with an error that names the format to save instead.
func Open(path string) (*Source, error) {
	found, err := locate(path)
	if err != nil {
		return nil, fmt.Errorf("find weights in %s: %w", path, err)
	}
	s, err := found.open()
	if err != nil {
		return nil, fmt.Errorf("read weights of %s: %w", found.path(), err)
	}
	if len(s.Tensors) == 0 {
		return nil, fmt.Errorf("read weights of %s: it has none", found.path())
	}
	return s, nil
}

// Values reads a weight as float32, row major. It is exact if none of its values had to be rounded.
func (s *Source) Values(t Weight) (values []float32, exact bool, err error) {
	return s.bundle.Numbers(t.Key)
}

// Rows returns what the rows of a weight represent; nil if that isn't known, and empty if they
// can't be distinguished from each other.
func (s *Source) Rows(t Weight) Rows { return s.rows[t.Key] }

// find returns the weight of a name, which may also be its key.
func (s *Source) find(name string) (Weight, bool) {
	for _, known := range []func(Weight) string{func(t Weight) string { return t.Name }, func(t Weight) string { return t.Key }} {
		if at := slices.IndexFunc(s.Tensors, func(t Weight) bool { return known(t) == name }); at >= 0 {
			return s.Tensors[at], true
		}
	}
	return Weight{}, false
}

// maxStateBytes limits the file "checkpoint". TensorFlow writes a few lines into it.
const maxStateBytes = 1 << 20

// newestIn returns the checkpoint that a folder's file "checkpoint" calls the newest: tensorflow's
// CheckpointState as text. It is in that directory: only the name of an absolute path counts,
// because directories are moved, and a file must not refer to another directory.
func newestIn(dir string) (place, error) {
	text, err := readBounded(filepath.Join(dir, "checkpoint"), maxStateBytes)
	if err != nil {
		return place{}, err
	}
	newest, err := newestOf(string(text))
	if err != nil {
		return place{}, fmt.Errorf("file checkpoint: %w", err)
	}
	if !filepath.IsLocal(newest) {
		newest = filepath.Base(newest)
	}
	return checkpointAt(filepath.Join(dir, newest), fmt.Errorf("the file checkpoint names %s, which isn't there", newest))
}

func newestOf(state string) (string, error) {
	for line := range strings.Lines(state) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) != "model_checkpoint_path" {
			continue
		}
		path, err := strconv.Unquote(strings.TrimSpace(value))
		if err != nil || path == "" {
			return "", fmt.Errorf("model_checkpoint_path is %s, expected a quoted path", strings.TrimSpace(value))
		}
		return path, nil
	}
	return "", errors.New("no model_checkpoint_path")
}

func readBounded(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read: nothing can be lost
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}
