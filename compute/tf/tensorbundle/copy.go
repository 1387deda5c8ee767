package tensorbundle

import (
	"errors"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// stored is a value as another bundle has it.
type stored struct {
	entry *corepb.BundleEntryProto
	data  []byte
}

// Copy is a variable of any type as a Tensor for another bundle, under the key as. Its checksum goes along as it stands. A
// variable in slices is an error.
func (b *Bundle) Copy(key, as string) (Tensor, error) {
	entry, err := b.find(key)
	if err != nil {
		return Tensor{}, err
	}
	if len(entry.GetSlices()) > 0 {
		return Tensor{}, b.failure(key, errors.New("lies in slices, which aren't copied"))
	}
	data, err := b.read(entry)
	if err != nil {
		return Tensor{}, b.failure(key, err)
	}
	return Tensor{Key: as, stored: &stored{entry, data}}, nil
}
