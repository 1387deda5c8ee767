package tfrecord

import (
	"hash/crc32"
	"math/bits"
)

const (
	headSize = 12 // length and its checksum
	footSize = 4  // the data's checksum

	maskDelta = 0xa282ead8
)

// Checksum returns the masked CRC-32C of the parts, one after another, as TFRecords, TensorBundles
// and LevelDB tables store it.
func Checksum(parts ...[]byte) uint32 {
	var c CRC
	for _, part := range parts {
		c = c.Update(part)
	}
	return c.Masked()
}

// checksum is Checksum of one part, without a list of parts.
func checksum(data []byte) uint32 { return CRC(0).Update(data).Masked() }

// CRC is a CRC-32C (Castagnoli) of the data so far, at first of nothing.
type CRC uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Update adds data.
func (c CRC) Update(data []byte) CRC { return CRC(crc32.Update(uint32(c), castagnoli, data)) }

// Masked returns the form in which checksums are stored:
//
//	mask(c) = rotate right(c, 15) + 0xa282ead8, modulo 2^32
//
// They are masked because a checksum over bytes that contain their own checksum is weak
// (leveldb/util/crc32c.h).
func (c CRC) Masked() uint32 { return bits.RotateLeft32(uint32(c), -15) + maskDelta }
