package tensorbundle

import "github.com/stoker-ml/stoker/compute/tf/tensor"

// Tensor reads a variable of strings or numbers in the type it was saved in. Numbers reads types of
// fewer bits, too.
func (b *Bundle) Tensor(key string) (tensor.Tensor, error) {
	e, err := b.find(key)
	if err != nil {
		return nil, err
	}
	dims := tensor.ShapeOf(e.GetShape())
	if e.GetDtype() == tensor.String {
		values, err := b.Strings(key)
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = string(v)
		}
		return &tensor.Array[string]{Dims: dims, Data: texts}, nil
	}
	data, _, err := b.numeric(key)
	if err != nil {
		return nil, err
	}
	t, err := tensor.FromBytes(e.GetDtype(), dims, data)
	if err != nil {
		return nil, b.failure(key, err)
	}
	return t, nil
}
