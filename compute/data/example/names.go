package example

import (
	"encoding/binary"
	"math/bits"
)

// names finds the column of a name: a hash table with open addressing that is filled once and has
// few names in many slots. For each name its length and its first, last and second eight bytes are
// stored as numbers. Names of up to 24 bytes consist of these alone, so most names are found
// without comparing strings.
type names struct {
	slots []slot   // a power of two, at most an eighth of them used
	all   []string // by column
	salt  uint64
	shift int // shift from a hash to an index of slots
}

type slot struct {
	first, last  uint64
	second       uint64 // of a name that is longer than 16 bytes
	size, column int    // column is -1 for a free slot
}

// salts is how many salts are tried for one that gives every name a slot of its own, so that no
// look-up has to probe a second slot.
const salts = 64

// newNames makes the table of names by their columns; "" for a column that has none here.
func newNames(columns []string) names {
	size := bits.Len(uint(8*len(columns) + 7))
	t := names{slots: make([]slot, 1<<size), all: columns, salt: 0x9e3779b97f4a7c15, shift: 64 - size}
	for i := 0; t.fill() > 0 && i < salts; i++ {
		// It stays odd; see Steele and Vigna, "Computationally easy, spectrally good multipliers".
		t.salt = t.salt*0xd1342543de82ef95 + 2
	}
	return t
}

// fill puts all names into their slots, and returns how many are displaced to another slot.
func (t *names) fill() (displaced int) {
	for i := range t.slots {
		t.slots[i] = slot{size: -1, column: -1}
	}
	for column, name := range t.all {
		if name == "" {
			continue
		}
		first, last := ends([]byte(name), 0, len(name))
		i := t.place(first, last, len(name))
		for ; t.slots[i].column >= 0; i = t.next(i) {
			displaced++
		}
		t.slots[i] = slot{first, last, second([]byte(name), 0, len(name)), len(name), column}
	}
	return displaced
}

// find returns the column of the name m[from:to], or -1.
func (t *names) find(m []byte, from, to int) int {
	first, last := ends(m, from, to)
	i := t.place(first, last, to-from)
	for {
		s := &t.slots[i]
		if s.is(first, last, to-from) && (to-from <= 16 || t.isLong(s, m, from, to)) {
			return s.column
		}
		if s.column < 0 {
			return -1
		}
		i = t.next(i)
	}
}

func (s *slot) is(first, last uint64, size int) bool {
	return (s.first^first)|(s.last^last)|uint64(s.size^size) == 0
}

// isLong compares the rest of a name that is longer than 16 bytes.
func (t *names) isLong(s *slot, m []byte, from, to int) bool {
	return s.second == second(m, from, to) && (to-from <= 24 || t.all[s.column] == string(m[from:to]))
}

func (t *names) next(i uint64) uint64 { return (i + 1) & uint64(len(t.slots)-1) }

// place returns the first slot to probe. Multiplying spreads names over the high bits (Knuth, The
// Art of Computer Programming 3, 6.4).
func (t *names) place(first, last uint64, size int) uint64 {
	return (first ^ bits.RotateLeft64(last, 29) ^ uint64(size)) * t.salt >> (t.shift & 63)
}

// ends returns the first and the last eight bytes of m[from:to], which overlap if it is shorter
// than 16; if it is shorter than eight, each is all of it, followed by zeros.
func ends(m []byte, from, to int) (first, last uint64) {
	if to-from >= 8 {
		return binary.LittleEndian.Uint64(m[from:]), binary.LittleEndian.Uint64(m[to-8:])
	}
	return shortEnds(m, from, to)
}

// second returns the second eight bytes of m[from:to], 0 if it isn't longer than 16.
func second(m []byte, from, to int) uint64 {
	if to-from <= 16 {
		return 0
	}
	return binary.LittleEndian.Uint64(m[from+8:])
}

func shortEnds(m []byte, from, to int) (first, last uint64) {
	if from+8 <= len(m) {
		first = binary.LittleEndian.Uint64(m[from:]) & (1<<(8*(to-from)) - 1)
		return first, first
	}
	for i := to - 1; i >= from; i-- {
		first = first<<8 | uint64(m[i])
	}
	return first, first
}
