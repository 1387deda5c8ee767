//go:build unix

package jetstream_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// record is one message in a block file of the server's store: its length (4 bytes, little-endian,
// the highest bit set if it has headers), its sequence (8 bytes, the highest two bits are marks),
// its time (8 bytes), and then subject, headers, body, checksum.
type record struct {
	sequence uint64
	at, end  int
}

func records(block []byte) (all []record) {
	for at := 0; at+22 <= len(block); {
		length := int(binary.LittleEndian.Uint32(block[at:]) &^ (1 << 31))
		if length < 22 || at+length > len(block) {
			break
		}
		sequence := binary.LittleEndian.Uint64(block[at+4:]) &^ (3 << 62)
		all = append(all, record{sequence, at, at + length})
		at += length
	}
	return all
}

// tear damages the last block of a stream like an interrupted write: the last record ends in the
// middle, if it was not acknowledged; else, or in addition, it is followed by part of another one,
// or by the earlier content of the sectors.
func tear(t *testing.T, random *rand.Rand, dir, stream string, acknowledged uint64) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "jetstream", "$G", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("blocks of %s: %v, %v", stream, blocks, err)
	}
	path := slices.MaxFunc(blocks, byNumber)
	block, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := records(block)
	if len(all) == 0 || all[len(all)-1].end != len(block) {
		t.Fatalf("%s: %d records, which end before byte %d", path, len(all), len(block))
	}
	last := all[len(all)-1]
	if stream == "EVENTS" && last.sequence > acknowledged {
		t.Logf("%s: message %d, which was never acknowledged, ends in the middle", stream, last.sequence)
		block = block[:last.at+1+random.IntN(last.end-last.at-1)]
	} else {
		block = append(block, garbage(random, block[last.at:last.end])...)
	}
	if err := os.WriteFile(path, block, 0o600); err != nil {
		t.Fatal(err)
	}
}

// garbage returns the first part of a record after the given one, noise, or zeros.
func garbage(random *rand.Rand, last []byte) []byte {
	out := slices.Clone(last[:1+random.IntN(len(last)-1)])
	switch random.IntN(3) {
	case 0:
		if len(out) >= 12 {
			binary.LittleEndian.PutUint64(out[4:], binary.LittleEndian.Uint64(out[4:])+1)
		}
	case 1:
		for i := range out {
			out[i] = byte(random.Uint32())
		}
	default:
		clear(out)
	}
	return out
}

// byNumber orders block files 9.blk and 10.blk.
func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.Compare([]byte(a), []byte(b))
}
