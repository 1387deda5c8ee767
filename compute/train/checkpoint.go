package train

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// Checkpoints are files called step-<number>.ckpt; checkpointFile says what is in one.
const (
	checkpointPrefix = "step-"
	checkpointSuffix = ".ckpt"
)

// save writes a checkpoint, whole or not at all, then removes those beyond Keep.
func (c Checkpoints) save(step int, m *nn.Model, o optim.Optimizer) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	path := filepath.Join(c.Dir, checkpointPrefix+strconv.Itoa(step)+checkpointSuffix)
	if err := writeWhole(path, encodeCheckpoint(c.describe(step, m, o), m.Weights(), o.State().Slots, m.Moving())); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return c.prune()
}

// writeWhole writes path by way of a temporary file, so that a reader sees all of it or nothing.
func writeWhole(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// sweep removes temporary files of checkpoints: whoever wrote them was killed. A training has its
// folder to itself.
func (c Checkpoints) sweep() error {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+checkpointPrefix) && strings.Contains(e.Name(), checkpointSuffix+".") {
			err = errors.Join(err, os.Remove(filepath.Join(c.Dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("sweep checkpoints: %w", err)
	}
	return nil
}

func (c Checkpoints) prune() error {
	if c.Keep < 0 {
		return nil
	}
	steps, err := c.list()
	if err != nil {
		return err
	}
	for _, s := range steps[min(max(c.Keep, 1), len(steps)):] {
		if err := os.Remove(s.path); err != nil {
			return fmt.Errorf("remove old checkpoint: %w", err)
		}
	}
	return nil
}

type saved struct {
	step int
	path string
}

// list is the checkpoints there are, the newest first.
func (c Checkpoints) list() ([]saved, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	var all []saved
	for _, e := range entries {
		number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), checkpointSuffix), checkpointPrefix)
		step, err := strconv.Atoi(number)
		if ok && err == nil && step > 0 {
			all = append(all, saved{step, filepath.Join(c.Dir, e.Name())})
		}
	}
	slices.SortFunc(all, func(a, b saved) int { return cmp.Compare(b.step, a.step) })
	return all, nil
}

// load sweeps, then puts the newest whole checkpoint back into m and o and returns its header, that
// of step 0 if there is none. A damaged one is passed over for the one before it; one of another
// training is an error.
func (c Checkpoints) load(m *nn.Model, o optim.Optimizer) (header, error) {
	all, err := c.list()
	if err = errors.Join(err, c.sweep()); err != nil {
		return header{}, err
	}
	for _, s := range all {
		data, err := os.ReadFile(s.path)
		if err != nil {
			return header{}, fmt.Errorf("checkpoint: %w", err)
		}
		file, err := decodeCheckpoint(data)
		if errors.Is(err, errDamaged) {
			continue
		}
		if err == nil {
			err = c.restore(file, m, o)
		}
		if err != nil {
			return header{}, fmt.Errorf("checkpoint %s: %w", s.path, err)
		}
		return file.header, nil
	}
	return header{}, nil
}

// describe is the header of a checkpoint.
func (c Checkpoints) describe(step int, m *nn.Model, o optim.Optimizer) header {
	state := o.State()
	h := header{Step: step, Seed: c.Seed, Optimizer: state.Name, Iterations: state.Iterations, Kernels: nn.KernelSet()}
	for _, p := range m.Graph.Params {
		switch {
		case p.Trainable:
			h.Params = append(h.Params, paramHeader{p.Name, p.Shape})
		case p.Moving:
			h.Moving = append(h.Moving, paramHeader{p.Name, p.Shape})
		}
	}
	return h
}

func (c Checkpoints) restore(f checkpointFile, m *nn.Model, o optim.Optimizer) error {
	if want := c.describe(f.header.Step, m, o); !f.header.fits(want) {
		return fmt.Errorf("is of another training: it has %v, expected %v", f.header, want)
	}
	if len(f.weights) != len(m.Weights()) {
		return fmt.Errorf("holds %d weights, expected %d", len(f.weights), len(m.Weights()))
	}
	state := optim.State{Name: f.header.Optimizer, Iterations: f.header.Iterations, Slots: f.slots}
	if err := o.Restore(state); err != nil {
		return err
	}
	copy(m.Weights(), f.weights)
	copy(m.Moving(), f.moving)
	return nil
}
