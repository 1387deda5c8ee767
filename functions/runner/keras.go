package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// kerasChoice is the Keras that a TFX module runs with. It must be set before TensorFlow is
// imported, and can't change later.
type kerasChoice struct {
	Version string `json:"keras"`  // "2" or "3"
	Reason  string `json:"reason"` // for the log

	open bool // the other one may be tried once, if the module turns out to need it
}

// other is the choice that remains when one has failed.
func (c kerasChoice) other(reason string) kerasChoice {
	if c.Version == module.Keras2 {
		return kerasChoice{Version: module.Keras3, Reason: reason}
	}
	return kerasChoice{Version: module.Keras2, Reason: reason}
}

// line describes the choice for the log, with the package's version if that is known.
func (c kerasChoice) line(e python.Environment) string {
	return fmt.Sprintf("Keras %s: %s", c.version(e), c.Reason)
}

// version returns the version of the package, or the Keras alone if that is not known.
func (c kerasChoice) version(e python.Environment) string {
	packages := map[string]string{module.Keras2: "tf-keras", module.Keras3: "keras"}
	if len(e.Kerases()) == 1 {
		packages[module.Keras2] = "keras"
	}
	return cmp.Or(e.Packages[packages[c.Version]], c.Version)
}

// chooseKeras chooses the Keras of a job: the one that the pipeline names; else the only one that
// is installed, the one that an earlier attempt needed, or the one that the module's source
// suggests.
func (p *pythonRunner) chooseKeras(
	ctx context.Context, r prepared, source module.Source, a module.Assignment,
) (choice kerasChoice, err error) {
	installed := r.environment.Kerases()
	switch {
	case source.Keras == module.Keras2 || source.Keras == module.Keras3:
		if !slices.Contains(installed, source.Keras) {
			return kerasChoice{}, fail(KindInput, fmt.Errorf("module.keras: %s: %s has only Keras %s; %s", source.Keras,
				r.environment.Interpreter, installed[0], kerasWay(source.Keras)))
		}
		return kerasChoice{Version: source.Keras, Reason: namedBy(a)}, nil
	case len(installed) == 1:
		return kerasChoice{Version: installed[0], Reason: "this Python has no other"}, nil
	}
	choice, ok := markedKeras(a.WorkingDir) // of this job's checkpoint
	if !ok {
		choice, ok = p.keras.recall(r.kerasKey(source, a.Call))
	}
	if !ok {
		choice = p.guessKeras(ctx, r, source, a.Call)
	}
	choice.open = true
	return choice, nil
}

// namedBy returns where a Keras is named: for several workers the runner names one, if the pipeline
// doesn't.
func namedBy(a module.Assignment) string {
	if a.Workers > 1 {
		return "several workers train with no other"
	}
	return "module.keras says so"
}

// kerasWay returns how to install a Keras that is missing.
func kerasWay(version string) string {
	if version == module.Keras2 {
		return "add tf_keras to module.requirements"
	}
	return "Keras 3 needs TensorFlow 2.16 or later"
}

// guessKeras chooses by the module's source. A search by KerasTuner needs Keras 3, even if the
// module's run_fn needs 2.
func (p *pythonRunner) guessKeras(ctx context.Context, r prepared, source module.Source, call module.Call) kerasChoice {
	signs, err := r.environment.KerasSigns(ctx, r.layout, r.files.Dir, r.files.Called(source.Function(call))...)
	if err != nil {
		p.r.opts.Logger.Warn("Keras version not found in the source of a module", "module", source, "error", err)
		return kerasChoice{Version: module.Keras3, Reason: "the default"}
	}
	order := []string{module.Keras2}
	if call != module.CallTrain {
		order = []string{module.Keras3, module.Keras2}
	}
	choice := kerasChoice{Version: module.Keras3, Reason: "nothing in the module asks for Keras 2"}
	for _, version := range order {
		if sign, ok := signs[version]; ok {
			choice = kerasChoice{Version: version, Reason: sign}
			break
		}
	}
	p.keep(r.kerasKey(source, call), choice)
	return choice
}

// needsOtherKeras returns err if the other Keras may do better.
func needsOtherKeras(err error) *Error {
	if failed, ok := errors.AsType[*Error](err); ok && failed.Kind == kindOtherKeras {
		return failed
	}
	return nil
}

// kindOtherKeras is the kind of an error of the driver that the other Keras does not raise. It
// never leaves this package.
const kindOtherKeras Kind = "other-keras"

func asModules(err *Error) *Error {
	err.Kind = KindModule
	return err
}

// kerasCache remembers which Keras a module needs: in memory, and in the cache directory for other
// processes. A choice that can't be stored is made again.
type kerasCache struct {
	dir string // of the files; "": memory alone

	mu    sync.Mutex
	known map[string]kerasChoice
}

// kerasKey returns a hash of everything that determines the choice: the module's files, the
// packages, the driver's rules, and the function called.
func (r prepared) kerasKey(source module.Source, call module.Call) string {
	parts := []string{
		r.files.Digest, r.files.File, r.environment.Digest, r.layout.Digest, string(call), source.Function(call),
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}

func (k *kerasCache) recall(key string) (kerasChoice, bool) {
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

// keep remembers a choice. Its error is that of writing the file.
func (k *kerasCache) keep(key string, choice kerasChoice) error {
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

func (k *kerasCache) path(key string) string {
	if k.dir == "" {
		return ""
	}
	return filepath.Join(k.dir, key)
}

// keep remembers a choice. It logs errors, which are no reason to fail a job.
func (p *pythonRunner) keep(key string, choice kerasChoice) {
	if err := p.keras.keep(key, choice); err != nil {
		p.r.opts.Logger.Warn("Keras version of a module not saved", "error", err)
	}
}

// kerasMark is a file in a job's working directory that is stored with its checkpoints: an attempt
// on another machine must not read checkpoints of one Keras with the other.
const kerasMark = ".stoker-keras"

func markedKeras(workingDir string) (kerasChoice, bool) {
	if workingDir == "" {
		return kerasChoice{}, false
	}
	return readKeras(filepath.Join(workingDir, kerasMark))
}

// readKeras reads a choice. A file that is invalid counts as missing.
func readKeras(path string) (choice kerasChoice, ok bool) {
	const limit = 4096
	folder, name := filepath.Split(path)
	text, err := ReadInFolder(folder, folder, name, limit)
	if err != nil || json.Unmarshal(text, &choice) != nil {
		return kerasChoice{}, false
	}
	return choice, choice.Version == module.Keras2 || choice.Version == module.Keras3
}

// writeKeras writes a choice atomically.
func writeKeras(path string, choice kerasChoice) error {
	text, err := json.Marshal(choice)
	if err != nil {
		return err
	}
	partial, err := os.CreateTemp(filepath.Dir(path), ".partial-")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name()) // by then it has been renamed, or is left over
	_, err = partial.Write(append(text, '\n'))
	if err = errors.Join(err, partial.Close()); err != nil {
		return err
	}
	return os.Rename(partial.Name(), path)
}
