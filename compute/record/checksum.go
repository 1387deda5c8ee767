package record

import "hash/crc32"

const (
	headSize = 12 // length and its checksum
	footSize = 4  // the data's checksum

	maskDelta = 0xa282ead8
)

// Checksum is the masked CRC-32C (Castagnoli) of data, as TFRecords, TensorBundles and LevelDB tables store it:
//
//	mask(c) = rotate right(c, 15) + 0xa282ead8, modulo 2^32
//
// The mask is there because a checksum over bytes that hold their own checksum is weak (leveldb/util/crc32c.h).
func Checksum(data []byte) uint32 {
	c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + maskDelta
}
