package train

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// Checkpoints are files called step-<number>.ckpt; checkpointFile describes their content.
const (
	checkpointPrefix = "step-"
	checkpointSuffix = ".ckpt"
)

// save writes a checkpoint, completely or not at all, then removes those beyond Keep.
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

// writeWhole writes path through a temporary file, so that a reader sees all of it or nothing.
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

// sweep removes temporary files of checkpoints, whose writers were killed. A training has its
// directory to itself.
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

// list returns the existing checkpoints, the newest first.
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

// load sweeps, then restores the newest complete checkpoint into m and o and returns its header, or
// one of step 0 if there is none. It skips a damaged checkpoint for the one before it; a checkpoint
// of another training is an error.
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

// describe returns the header of a checkpoint.
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

// A checkpoint file is, all numbers little endian:
//
//	8 bytes   "stkckpt" and the version, 1
//	4 bytes   length of the header
//	          header, JSON
//	4 bytes   n, the number of weights
//	4 bytes   s, the number of the optimizer's slots
//	          n weights, then s times n slot values, float32
//	          the moving averages of the header, float32
//	4 bytes   masked CRC-32C of all before, as in a record
const checkpointMagic = "stkckpt\x01"

// errDamaged reports a file that is not a complete checkpoint.
var errDamaged = errors.New("damaged checkpoint")

// header is the metadata of a checkpoint. The seed determines the order in which batches are read,
// one a step: Step and Seed are also the reader's position.
type header struct {
	Step       int           `json:"step"`
	Seed       int64         `json:"seed"`
	Optimizer  string        `json:"optimizer"`
	Iterations int64         `json:"iterations"`
	Params     []paramHeader `json:"params"`
	Moving     []paramHeader `json:"moving,omitempty"`  // moving averages
	Kernels    string        `json:"kernels,omitempty"` // nn.KernelSet of the process that wrote it
}

type paramHeader struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

// numbers returns how many numbers the params have.
func numbers(params []paramHeader) (n uint64) {
	for _, p := range params {
		count := uint64(1)
		for _, d := range p.Shape {
			count *= uint64(d)
		}
		n += count
	}
	return n
}

// fits reports whether h is of the same training as want, whatever their steps and machines.
func (h header) fits(want header) bool {
	h.Step, h.Iterations, h.Kernels = want.Step, want.Iterations, want.Kernels
	return reflect.DeepEqual(h, want)
}

// checkpointFile is a decoded checkpoint.
type checkpointFile struct {
	header  header
	weights []float32
	slots   [][]float32
	moving  []float32
}

func encodeCheckpoint(h header, weights []float32, slots [][]float32, moving []float32) []byte {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // a struct of numbers and strings can always be encoded
	}
	out := []byte(checkpointMagic)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	out = append(out, text...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(weights)))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(slots)))
	out = appendFloats(out, weights)
	for _, slot := range slots {
		out = appendFloats(out, slot)
	}
	out = appendFloats(out, moving)
	return binary.LittleEndian.AppendUint32(out, tfrecord.Checksum(out))
}

func appendFloats(out []byte, values []float32) []byte {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// decodeCheckpoint decodes a file. It returns errDamaged if the file has another length than its
// header says, or another checksum.
func decodeCheckpoint(data []byte) (checkpointFile, error) {
	if len(data) < len(checkpointMagic)+16 {
		return checkpointFile{}, fmt.Errorf("%w: %d bytes", errDamaged, len(data))
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if tfrecord.Checksum(body) != sum {
		return checkpointFile{}, fmt.Errorf("%w: checksum", errDamaged)
	}
	if string(body[:len(checkpointMagic)]) != checkpointMagic {
		return checkpointFile{}, fmt.Errorf("no checkpoint of version 1")
	}
	return decodeBody(body[len(checkpointMagic):])
}

func decodeBody(rest []byte) (f checkpointFile, err error) {
	size := uint64(binary.LittleEndian.Uint32(rest))
	if rest = rest[4:]; size+8 > uint64(len(rest)) {
		return f, fmt.Errorf("%w: header of %d bytes", errDamaged, size)
	}
	if err := json.Unmarshal(rest[:size], &f.header); err != nil {
		return f, fmt.Errorf("%w: header: %w", errDamaged, err)
	}
	rest = rest[size:]
	n, s := uint64(binary.LittleEndian.Uint32(rest)), uint64(binary.LittleEndian.Uint32(rest[4:]))
	m := numbers(f.header.Moving)
	if rest = rest[8:]; max(n, m) > uint64(len(rest)) || s > 16 || 4*n*(s+1)+4*m != uint64(len(rest)) {
		return f, fmt.Errorf("%w: %d bytes for %d weights, %d slots and %d moving averages", errDamaged, len(rest), n, s, m)
	}
	f.weights, rest = takeFloats(rest, int(n))
	for range s {
		var slot []float32
		slot, rest = takeFloats(rest, int(n))
		f.slots = append(f.slots, slot)
	}
	f.moving, _ = takeFloats(rest, int(m))
	return f, nil
}

func takeFloats(b []byte, n int) (values []float32, rest []byte) {
	values = make([]float32, n)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return values, b[4*n:]
}
