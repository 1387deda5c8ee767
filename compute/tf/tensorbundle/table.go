package tensorbundle

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// A LevelDB table is a sorted map in a file: blocks of entries, then a block that says where each
// block is, then a footer. Source: leveldb/doc/table_format.md; TensorFlow's copy is
// tensorflow/core/lib/io/table.
const (
	tableMagic      = 0xdb4775248b80fb57
	tableFooterSize = 48
	blockTrailer    = 5 // type byte, masked CRC-32C of block and type
	blockSize       = 4096
	restartInterval = 16 // one entry in 16 has its whole key
	// Shared prefixes make keys larger in memory than in the file; 16 times at most in valid
	// tables.
	maxKeyGrowth = 64
)

// tableBlock collects entries. Each stores only what its key doesn't share with the key before.
type tableBlock struct {
	data     []byte
	restarts []uint32
	lastKey  string
	count    int
}

func (b *tableBlock) add(key string, value []byte) {
	shared := 0
	if b.count%restartInterval == 0 {
		b.restarts = append(b.restarts, uint32(len(b.data)))
	} else {
		shared = sharedPrefix(b.lastKey, key)
	}
	b.data = binary.AppendUvarint(b.data, uint64(shared))
	b.data = binary.AppendUvarint(b.data, uint64(len(key)-shared))
	b.data = binary.AppendUvarint(b.data, uint64(len(value)))
	b.data = append(b.data, key[shared:]...)
	b.data = append(b.data, value...)
	b.lastKey = key
	b.count++
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// appendTo ends the block, appends it to file, and returns the file with the block's handle.
func (b *tableBlock) appendTo(file []byte) (grown, handle []byte) {
	if len(b.restarts) == 0 {
		b.restarts = []uint32{0}
	}
	block := b.data
	for _, r := range b.restarts {
		block = binary.LittleEndian.AppendUint32(block, r)
	}
	block = binary.LittleEndian.AppendUint32(block, uint32(len(b.restarts)))
	handle = binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(file))), uint64(len(block)))
	file = append(append(file, block...), 0)
	return binary.LittleEndian.AppendUint32(file, tfrecord.Checksum(block, []byte{0})), handle
}

// tableEntry is a key and its value.
type tableEntry struct {
	key   string
	value []byte
}

// encodeTable writes entries, sorted by key, as an uncompressed table.
func encodeTable(entries []tableEntry) []byte {
	var file, handle []byte
	var block, index tableBlock
	flush := func() {
		last := block.lastKey
		file, handle = block.appendTo(file)
		index.add(last, handle)
		block = tableBlock{}
	}
	for _, e := range entries {
		block.add(e.key, e.value)
		if len(block.data) >= blockSize {
			flush()
		}
	}
	if block.count > 0 {
		flush()
	}
	var meta tableBlock
	file, handle = meta.appendTo(file)
	footer := handle
	file, handle = index.appendTo(file)
	footer = append(footer, handle...)
	footer = append(footer, make([]byte, tableFooterSize-8-len(footer))...)
	return append(file, binary.LittleEndian.AppendUint64(footer, tableMagic)...)
}

// decodeTable reads a whole table back, checking every block. Values are slices of file.
func decodeTable(file []byte) ([]tableEntry, error) {
	if len(file) < tableFooterSize {
		return nil, fmt.Errorf("table of %d bytes is shorter than its footer", len(file))
	}
	footer := file[len(file)-tableFooterSize:]
	if binary.LittleEndian.Uint64(footer[40:]) != tableMagic {
		return nil, errors.New("no LevelDB table: its last 8 bytes are wrong")
	}
	meta, rest, err := cutHandle(footer[:40])
	if err != nil {
		return nil, fmt.Errorf("handle of metaindex: %w", err)
	}
	if _, err := readBlock(file, meta); err != nil {
		return nil, fmt.Errorf("metaindex block: %w", err)
	}
	at, _, err := cutHandle(rest)
	if err != nil {
		return nil, fmt.Errorf("handle of index: %w", err)
	}
	index, err := readBlock(file, at)
	if err != nil {
		return nil, fmt.Errorf("index block: %w", err)
	}
	var entries []tableEntry
	// End of the previous block: blocks that overlap could make a small file large in memory.
	var end uint64
	for i, pointer := range index {
		at, _, err := cutHandle(pointer.value)
		if err != nil {
			return nil, fmt.Errorf("handle of block %d: %w", i, err)
		}
		block, err := readBlock(file, at)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		if at.offset < end {
			return nil, fmt.Errorf("block %d overlaps the one before", i)
		}
		entries, end = append(entries, block...), at.offset+at.size
	}
	return entries, nil
}

// blockHandle is the position of a block, without its trailer.
type blockHandle struct{ offset, size uint64 }

func cutHandle(b []byte) (blockHandle, []byte, error) {
	offset, n := binary.Uvarint(b)
	if n <= 0 {
		return blockHandle{}, nil, errors.New("bad offset")
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return blockHandle{}, nil, errors.New("bad size")
	}
	return blockHandle{offset, size}, b[n+m:], nil
}

func readBlock(file []byte, at blockHandle) ([]tableEntry, error) {
	n := uint64(len(file))
	if at.offset > n || at.size > n || at.offset+at.size+blockTrailer > n {
		return nil, fmt.Errorf("%d bytes at %d lie outside the %d bytes of the file", at.size, at.offset, n)
	}
	block := file[at.offset : at.offset+at.size]
	trailer := file[at.offset+at.size:][:blockTrailer]
	if got, want := tfrecord.Checksum(block, trailer[:1]), binary.LittleEndian.Uint32(trailer[1:]); got != want {
		return nil, fmt.Errorf("checksum at byte %d is %08x, data have %08x", at.offset, want, got)
	}
	if trailer[0] != 0 {
		return nil, fmt.Errorf("block at byte %d has compression %d, only 0 (none) is read: TensorFlow compresses no bundle",
			at.offset, trailer[0])
	}
	return parseBlock(block)
}

func parseBlock(block []byte) ([]tableEntry, error) {
	if len(block) < 4 {
		return nil, errors.New("shorter than its count of restart points")
	}
	restarts := uint64(binary.LittleEndian.Uint32(block[len(block)-4:]))
	if restarts*4+4 > uint64(len(block)) {
		return nil, fmt.Errorf("%d restart points don't fit into %d bytes", restarts, len(block))
	}
	data := block[:uint64(len(block))-4-restarts*4]
	var entries []tableEntry
	keyBytes := 0
	for key := ""; len(data) > 0; {
		entry, rest, err := cutEntry(key, data)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", len(entries), err)
		}
		entries, key, data = append(entries, entry), entry.key, rest
		if keyBytes += len(key); keyBytes > maxKeyGrowth*len(block) {
			return nil, fmt.Errorf("keys of a block of %d bytes have more than %d times as many", len(block), maxKeyGrowth)
		}
	}
	return entries, nil
}

// cutEntry reads one entry; previous is the key before it.
func cutEntry(previous string, data []byte) (tableEntry, []byte, error) {
	var lengths [3]uint64 // of the key shared and not shared with previous, and of the value
	for i := range lengths {
		v, n := binary.Uvarint(data)
		if n <= 0 || v > 1<<31 {
			return tableEntry{}, nil, errors.New("bad length")
		}
		lengths[i], data = v, data[n:]
	}
	shared, unshared, size := lengths[0], lengths[1], lengths[2]
	if shared > uint64(len(previous)) || unshared+size > uint64(len(data)) {
		return tableEntry{}, nil, errors.New("length outside the block")
	}
	key := previous[:shared] + string(data[:unshared])
	return tableEntry{key, data[unshared : unshared+size]}, data[unshared+size:], nil
}
