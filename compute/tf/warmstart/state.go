package warmstart

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxStateBytes bounds the file "checkpoint". TensorFlow keeps a few lines in it.
const maxStateBytes = 1 << 20

// newestIn is the checkpoint that a folder's file "checkpoint" calls the newest: tensorflow's
// CheckpointState as text. It lies in that folder: of an absolute path only the name counts, for
// folders are moved, and what a file says shall not lead out of it.
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
