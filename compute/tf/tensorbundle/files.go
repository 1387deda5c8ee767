package tensorbundle

import (
	"fmt"
	"maps"
	"slices"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// CheckFiles says which data file is missing, or ends before the values that the index has in it.
// No value is read: a file that was cut off while it was written is found, one that was changed is
// not.
func (b *Bundle) CheckFiles() error {
	lengths := map[string]int64{}
	for _, key := range slices.Sorted(maps.Keys(b.entries)) {
		entry := b.entries[key]
		if len(entry.GetSlices()) > 0 {
			continue // its values are those of other entries
		}
		name := dataFile(b.prefix, entry.GetShardId(), b.shards)
		if _, known := lengths[name]; !known {
			length, err := b.length(name)
			if err != nil {
				return b.failure(key, err)
			}
			lengths[name] = length
		}
		if err := within(entry, name, lengths[name]); err != nil {
			return b.failure(key, err)
		}
	}
	return nil
}

func (b *Bundle) length(name string) (int64, error) {
	file, err := b.open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close() // only read: nothing can be lost
	return file.Length()
}

// within is an error for an entry whose values don't lie in a file of that length.
func within(entry *corepb.BundleEntryProto, name string, length int64) error {
	offset, size := entry.GetOffset(), entry.GetSize()
	if offset < 0 || size < 0 || size > length || offset > length-size {
		return fmt.Errorf("%d bytes at %d lie outside %s, which has %d", size, offset, name, length)
	}
	return nil
}
