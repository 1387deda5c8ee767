package fake

import (
	"fmt"
	"unsafe"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

// memory is a device's memory: blocks far apart, each byte of them initialized or not.
type memory struct {
	next   cuda.Pointer
	blocks []*block
	used   int64
}

type block struct {
	at      cuda.Pointer
	words   []uint64 // the bytes, aligned
	size    int
	written []bool
	freed   bool
}

const (
	firstAddress = 0x7f0000000000
	gap          = 4096 // between blocks; each begins at a multiple of it
)

func (m *memory) alloc(n int64) cuda.Pointer {
	m.next = max(m.next, firstAddress)
	b := &block{at: m.next, words: make([]uint64, (n+7)/8), size: int(n), written: make([]bool, n)}
	for i := range b.words {
		b.words[i] = 0x7ff8dead7fc0dead // NaN, for floats and for doubles
	}
	m.blocks = append(m.blocks, b)
	m.next += cuda.Pointer((n/gap + 2) * gap)
	m.used += n
	return b.at
}

func (m *memory) free(p cuda.Pointer) error {
	for _, b := range m.blocks {
		if b.at != p {
			continue
		}
		if b.freed {
			return fmt.Errorf("fake: %#x is freed twice", p)
		}
		b.freed = true
		m.used -= int64(b.size)
		return nil
	}
	return fmt.Errorf("fake: %#x is freed, and was never allocated", p)
}

func (m *memory) living() (n int) {
	for _, b := range m.blocks {
		if !b.freed {
			n++
		}
	}
	return n
}

// access says what is done to memory.
type access int

const (
	read access = 1 << iota
	write
)

// bytes returns n bytes from p on, which must be allocated, and initialized if they are read.
func (m *memory) bytes(p cuda.Pointer, n int, do access) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	for _, b := range m.blocks {
		if p < b.at || p >= b.at+cuda.Pointer(b.size) {
			continue
		}
		from := int(p - b.at)
		switch {
		case b.freed:
			return nil, fmt.Errorf("fake: %#x is used after it was freed", p)
		case from+n > b.size:
			return nil, fmt.Errorf("fake: %d bytes from %#x end %d beyond their block", n, p, from+n-b.size)
		}
		if err := b.mark(from, n, do); err != nil {
			return nil, err
		}
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.words))), b.size)[from : from+n], nil
	}
	return nil, fmt.Errorf("fake: %#x is no address of this device", p)
}

func (b *block) mark(from, n int, do access) error {
	for i := from; i < from+n; i++ {
		if do&read != 0 && !b.written[i] {
			return fmt.Errorf("fake: byte %d from %#x is read, and nobody has written it", i, b.at)
		}
		if do&write != 0 {
			b.written[i] = true
		}
	}
	return nil
}
