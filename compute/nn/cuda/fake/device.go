package fake

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

// Device is a cuda.Device. The zero value has unlimited memory and no product of its own.
type Device struct {
	Bytes       int64 // size of memory; 0: unlimited
	Multiplies  bool  // it has a Multiplier
	FailLaunch  error // what every Launch returns from now on, if set
	FailOnAlloc int   // the number of the Alloc that fails, from 1; 0: none

	mu      sync.Mutex
	memory  memory
	hosts   map[*byte]int // of AllocHost
	uploads []upload      // since the last wait
	kernels []cuda.Kernel
	closed  bool
	allocs  int
	counts  map[string]int // of launches, by kernel
}

// upload is memory of this computer that must not change yet.
type upload struct{ from, then []byte }

// ErrMemory is returned by Alloc if there is no more memory.
var ErrMemory = errors.New("fake: out of memory")

// Name implements cuda.Device.
func (d *Device) Name() string { return "fake GPU" }

// Memory implements cuda.Device.
func (d *Device) Memory() (free, total int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Bytes - d.memory.used, d.Bytes, nil
}

// Alloc implements cuda.Device.
func (d *Device) Alloc(n int64) (cuda.Pointer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.allocs++
	switch {
	case d.closed:
		return 0, errClosed
	case n < 1:
		return 0, fmt.Errorf("fake: alloc of %d bytes", n)
	case d.Bytes > 0 && d.memory.used+n > d.Bytes, d.allocs == d.FailOnAlloc:
		return 0, ErrMemory
	}
	return d.memory.alloc(n), nil
}

// Free implements cuda.Device.
func (d *Device) Free(p cuda.Pointer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory.free(p)
}

// AllocHost implements cuda.Device.
func (d *Device) AllocHost(n int64) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	if d.hosts == nil {
		d.hosts = map[*byte]int{}
	}
	// 8 bytes hold one number: checkptr requires them even if there are none
	b := make([]byte, max(n, 8))[:n]
	d.hosts[hostKey(b)] = int(n)
	return b, nil
}

// FreeHost implements cuda.Device.
func (d *Device) FreeHost(b []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, known := d.hosts[hostKey(b)]
	if !known || n != len(b) {
		return fmt.Errorf("fake: %d bytes here are given back that were not lent, or not as such", len(b))
	}
	delete(d.hosts, hostKey(b))
	return nil
}

func hostKey(b []byte) *byte { return &b[:1][0] }

// Upload implements cuda.Device.
func (d *Device) Upload(to cuda.Pointer, from []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	there, err := d.memory.bytes(to, len(from), write)
	if err != nil {
		return err
	}
	d.uploads = append(d.uploads, upload{from, bytes.Clone(from)})
	copy(there, from)
	return nil
}

// Download implements cuda.Device.
func (d *Device) Download(to []byte, from cuda.Pointer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	there, err := d.memory.bytes(from, len(to), read)
	if err != nil {
		return err
	}
	if err := d.waited(); err != nil {
		return err
	}
	copy(to, there)
	return nil
}

// Sync implements cuda.Device.
func (d *Device) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waited()
}

// waited checks that nothing changed while it was copied.
func (d *Device) waited() error {
	defer func() { d.uploads = nil }()
	for _, u := range d.uploads {
		if !bytes.Equal(u.from, u.then) {
			return fmt.Errorf("fake: %d bytes here changed before their upload was waited for", len(u.from))
		}
	}
	return nil
}

// Counts returns how often each kernel was launched.
func (d *Device) Counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

var errClosed = errors.New("fake: the device is closed")

// Close implements cuda.Device, and reports memory that was not freed.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	d.closed = true
	if n := d.memory.living(); n > 0 || len(d.hosts) > 0 {
		return fmt.Errorf("fake: closed with %d blocks of its memory and %d of this computer's not given back", n, len(d.hosts))
	}
	return nil
}
