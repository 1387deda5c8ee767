package train

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// resealed returns data with a valid checksum, so that fuzzing reaches the code behind it.
func resealed(data []byte) []byte {
	if len(data) < 4 {
		return data
	}
	body := data[: len(data)-4 : len(data)-4]
	return binary.LittleEndian.AppendUint32(body, tfrecord.Checksum(body))
}

// CheckpointOf returns a checkpoint as a process with those kernels would have written it.
func CheckpointOf(t *testing.T, data []byte, kernels string) []byte {
	t.Helper()
	f, err := decodeCheckpoint(data)
	if err != nil {
		t.Fatal(err)
	}
	f.header.Kernels = kernels
	return encodeCheckpoint(f.header, f.weights, f.slots, f.moving)
}

func FuzzDecodeCheckpoint(f *testing.F) {
	h := header{Step: 3, Optimizer: "adam", Iterations: 3, Params: []paramHeader{{"w", []int{2}}}}
	f.Add(encodeCheckpoint(h, []float32{1, 2}, [][]float32{{3, 4}, {5, 6}}, nil))
	h.Moving = []paramHeader{{"mean", []int{1, 3}}}
	f.Add(encodeCheckpoint(h, []float32{1, 2}, nil, []float32{3, 4, 5}))
	f.Add(encodeCheckpoint(header{}, nil, nil, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := decodeCheckpoint(resealed(data))
		if err != nil {
			return
		}
		again, err := decodeCheckpoint(encodeCheckpoint(file.header, file.weights, file.slots, file.moving))
		if err != nil || !bytes.Equal(appendFloats(nil, again.weights), appendFloats(nil, file.weights)) ||
			!bytes.Equal(appendFloats(nil, again.moving), appendFloats(nil, file.moving)) {
			t.Errorf("written again: %v", err)
		}
	})
}
