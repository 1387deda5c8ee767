package cuda

import "unsafe"

// Devices are little endian, as are all computers they stand in: numbers are copied as they lie in
// memory.

const (
	floatBytes = 4
	intBytes   = 8 // of a Go int, and of an id in a kernel
)

func bytesOfFloats(s []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*floatBytes)
}

func bytesOfInts(s []int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*intBytes)
}

func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/floatBytes)
}

func intsOf(b []byte) []int {
	return unsafe.Slice((*int)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/intBytes)
}

// address is where a slice lies on this computer. Go doesn't move it while somebody holds it.
func address(s []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }

// floats is the address n floats on, ints n ints on.
func (p Pointer) floats(n int) Pointer { return p + Pointer(n*floatBytes) }

func (p Pointer) ints(n int) Pointer { return p + Pointer(n*intBytes) }

func wordsOf(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}
