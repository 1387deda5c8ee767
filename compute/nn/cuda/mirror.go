package cuda

import (
	"fmt"
	"slices"
)

// mirror has the device's copies of this computer's memory: params, constants, and optimizers'
// slots. Adjacent slices are adjacent on the device too, if they were added at once.
type mirror struct {
	gpu     *GPU
	regions []*region // sorted by begin, without overlaps
}

// region is contiguous memory.
type region struct {
	begin, end uintptr // on this computer
	at         Pointer // on the device
	changes    bool    // the device changes it: sync copies it back
	parts      [][]float32
}

// add copies slices to the device. They may overlap each other, but earlier ones only if they are
// part of them.
func (m *mirror) add(what string, changes bool, list ...[]float32) error {
	list = slices.DeleteFunc(slices.Clone(list), func(s []float32) bool { return len(s) == 0 || m.covers(s) })
	slices.SortFunc(list, func(a, b []float32) int {
		if address(a) != address(b) {
			return int(address(a)) - int(address(b))
		}
		return len(b) - len(a)
	})
	var fresh []*region
	for _, s := range list {
		fresh = join(fresh, s)
	}
	for _, r := range fresh {
		if err := m.place(what, changes, r); err != nil {
			return err
		}
	}
	return nil
}

// join adds s, which begins at no lower address than those before it, to the last region if it
// touches that.
func join(regions []*region, s []float32) []*region {
	begin, end := span(s)
	if len(regions) > 0 {
		if last := regions[len(regions)-1]; begin <= last.end {
			if end > last.end {
				last.parts = append(last.parts, s)
				last.end = end
			}
			return regions
		}
	}
	return append(regions, &region{begin: begin, end: end, parts: [][]float32{s}})
}

func span(s []float32) (begin, end uintptr) {
	return address(s), address(s) + uintptr(len(s)*floatBytes)
}

// place allocates memory for a region, and fills it.
func (m *mirror) place(what string, changes bool, r *region) (err error) {
	if r.at, err = m.gpu.alloc(what, int64(r.end-r.begin)); err != nil {
		return err
	}
	r.changes = changes
	m.regions = append(m.regions, r)
	slices.SortFunc(m.regions, func(a, b *region) int { return int(a.begin) - int(b.begin) })
	return r.push(m.gpu.device)
}

// covers reports whether all of s has a copy.
func (m *mirror) covers(s []float32) bool {
	_, n := m.find(s)
	return n == len(s)
}

// find returns where s begins on the device, and how many of its elements are contiguous there; 0
// if its first has no copy.
func (m *mirror) find(s []float32) (at Pointer, n int) {
	begin, end := span(s)
	for _, r := range m.regions {
		if begin >= r.begin && begin < r.end {
			return r.at + Pointer(begin-r.begin), int(min(end, r.end)-begin) / floatBytes
		}
	}
	return 0, 0
}

// missing returns how many elements of s, from its first, have no copy.
func (m *mirror) missing(s []float32) int {
	begin, end := span(s)
	for _, r := range m.regions {
		if r.end > begin {
			end = max(begin, min(end, r.begin))
			break
		}
	}
	return int(end-begin) / floatBytes
}

// push copies this computer's memory to the device, pull copies changed memory back.
func (m *mirror) push() error {
	for _, r := range m.regions {
		if err := r.push(m.gpu.device); err != nil {
			return err
		}
	}
	return m.gpu.device.Sync() // this computer's memory may change from now on
}

func (m *mirror) pull() error {
	for _, r := range m.regions {
		if !r.changes {
			continue
		}
		for _, part := range r.parts {
			if err := m.gpu.device.Download(bytesOfFloats(part), r.at+Pointer(address(part)-r.begin)); err != nil {
				return fmt.Errorf("copy weights from %s: %w", m.gpu.Name(), err)
			}
		}
	}
	return nil
}

func (r *region) push(d Device) error {
	for _, part := range r.parts {
		if err := d.Upload(r.at+Pointer(address(part)-r.begin), bytesOfFloats(part)); err != nil {
			return fmt.Errorf("copy weights to %s: %w", d.Name(), err)
		}
	}
	return nil
}

func (m *mirror) close() (err error) {
	for _, r := range m.regions {
		if failed := m.gpu.free(r.at); failed != nil {
			err = failed
		}
	}
	m.regions = nil
	return err
}
