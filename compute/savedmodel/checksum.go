package savedmodel

import (
	"hash/crc32"
	"math/bits"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC is the masked CRC-32C of the parts, one after another.
func maskedCRC(parts ...[]byte) uint32 {
	var crc uint32
	for _, part := range parts {
		crc = crc32.Update(crc, castagnoli, part)
	}
	return maskCRC(crc)
}

// maskCRC is how TensorFlow and LevelDB store a CRC: rotated right by 15 bits, plus 0xa282ead8 modulo 2^32. The mask keeps
// the checksum of data that itself holds checksums well spread.
func maskCRC(crc uint32) uint32 { return bits.RotateLeft32(crc, -15) + 0xa282ead8 }
