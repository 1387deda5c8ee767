package train

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

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

// errDamaged is what is wrong with a file that is no whole checkpoint.
var errDamaged = errors.New("damaged checkpoint")

// header is what a checkpoint says of itself. Batches are read in an order that the seed decides,
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

// numbers is how many numbers the params have.
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

// fits says whether h is of the same training as want, however far either is, and on whatever
// machine.
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
		panic(err) // a struct of numbers and strings
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

// decodeCheckpoint reads a file. What isn't exactly as long as it says, or has another checksum, is
// errDamaged.
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
