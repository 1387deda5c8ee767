package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/stoker-ml/stoker/functions/module"
)

// kerasKept remembers which Keras a module needs, for this process and in the cache folder for others. Whatever can't be
// remembered is found out again.
type kerasKept struct {
	dir string // of the files; "": memory alone

	mu    sync.Mutex
	known map[string]kerasChoice
}

// kerasKey names what decides the choice: the module's files, the packages, the rules, and what is called.
func (r prepared) kerasKey(source module.Source, call module.Call) string {
	decides := []string{
		r.files.Digest, r.files.File, r.environment.Digest, r.layout.Digest, string(call), source.Function(call),
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", decides))
	return hex.EncodeToString(sum[:])
}

func (k *kerasKept) recall(key string) (kerasChoice, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if choice, ok := k.known[key]; ok {
		return choice, true
	}
	choice, ok := readKeras(k.path(key))
	if ok {
		k.known[key] = choice
	}
	return choice, ok
}

// keep remembers a choice. An error is that of its file.
func (k *kerasKept) keep(key string, choice kerasChoice) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[key] = choice
	if k.dir == "" {
		return nil
	}
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return err
	}
	return writeKeras(k.path(key), choice)
}

func (k *kerasKept) path(key string) string {
	if k.dir == "" {
		return ""
	}
	return filepath.Join(k.dir, key)
}

// keep remembers a choice; that it can't is no reason to fail a job.
func (p *pythonRunner) keep(key string, choice kerasChoice) {
	if err := p.keras.keep(key, choice); err != nil {
		p.host.opts.Logger.Warn("which Keras a module needs will be found out again", "error", err)
	}
}

// kerasMark is a file in a job's working folder that goes with its checkpoints: an attempt on another machine must not meet,
// with one Keras, what was saved with the other.
const kerasMark = ".stoker-keras"

func markedKeras(workingDir string) (kerasChoice, bool) {
	if workingDir == "" {
		return kerasChoice{}, false
	}
	return readKeras(filepath.Join(workingDir, kerasMark))
}

// readKeras reads a choice; a file that holds none is as good as none.
func readKeras(path string) (choice kerasChoice, ok bool) {
	const limit = 4096
	folder, name := filepath.Split(path)
	text, err := ReadInFolder(folder, folder, name, limit)
	if err != nil || json.Unmarshal(text, &choice) != nil {
		return kerasChoice{}, false
	}
	return choice, choice.Version == module.Keras2 || choice.Version == module.Keras3
}

// writeKeras has readers see all of a choice or nothing.
func writeKeras(path string, choice kerasChoice) error {
	text, err := json.Marshal(choice)
	if err != nil {
		return err
	}
	partial, err := os.CreateTemp(filepath.Dir(path), ".partial-")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name()) // it has another name then, or is to go
	_, err = partial.Write(append(text, '\n'))
	if err = errors.Join(err, partial.Close()); err != nil {
		return err
	}
	return os.Rename(partial.Name(), path)
}
