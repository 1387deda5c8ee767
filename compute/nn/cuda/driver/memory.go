//go:build stoker_cuda

package driver

// #include <cuda.h>
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

// Alloc implements cuda.Device. The driver aligns to 256 bytes.
func (d *Device) Alloc(n int64) (cuda.Pointer, error) {
	leave, err := d.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	p, err := cu.MemAlloc(n)
	return cuda.Pointer(p), err
}

// Free implements cuda.Device.
func (d *Device) Free(p cuda.Pointer) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	return cu.MemFree(cu.DevicePtr(p))
}

// AllocHost implements cuda.Device: memory that the kernel doesn't move.
func (d *Device) AllocHost(n int64) ([]byte, error) {
	leave, err := d.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	var p unsafe.Pointer
	if r := C.cuMemAllocHost(&p, C.size_t(max(n, 1))); r != C.CUDA_SUCCESS {
		return nil, fmt.Errorf("cuMemAllocHost: status %d", int(r))
	}
	b := unsafe.Slice((*byte)(p), max(n, 1))[:n]
	clear(b)
	return b, nil
}

// FreeHost implements cuda.Device.
func (d *Device) FreeHost(b []byte) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	if r := C.cuMemFreeHost(unsafe.Pointer(unsafe.SliceData(b))); r != C.CUDA_SUCCESS {
		return fmt.Errorf("cuMemFreeHost: status %d", int(r))
	}
	return nil
}

// Upload implements cuda.Device.
func (d *Device) Upload(to cuda.Pointer, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	return cu.MemcpyHtoDAsync(cu.DevicePtr(to), unsafe.Pointer(unsafe.SliceData(from)), int64(len(from)), cu.Stream{})
}

// Download implements cuda.Device.
func (d *Device) Download(to []byte, from cuda.Pointer) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	if len(to) == 0 {
		return cu.Synchronize()
	}
	return cu.MemcpyDtoH(unsafe.Pointer(unsafe.SliceData(to)), cu.DevicePtr(from), int64(len(to)))
}
