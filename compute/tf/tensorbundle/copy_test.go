package tensorbundle

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

func TestVariablesOfAnyTypeAreCopied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	tensors := []Entry{{Key: "kernel", Value: &tensor.Array[float32]{Dims: []int{2, 1}, Data: []float32{1, -2}}}, {Key: "text", Value: tensor.Scalar("words")}}
	if err := Write(first, tensors); err != nil {
		t.Fatal(err)
	}
	from, err := Open(first)
	if err != nil {
		t.Fatal(err)
	}
	var copies []Entry
	for _, key := range []string{"kernel", "text"} {
		c, err := from.Copy(key, "from/"+key)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, c)
	}
	if err := Write(second, append(copies, Entry{Key: "zero", Value: &tensor.Array[float32]{Dims: []int{1}, Data: []float32{0}}})); err != nil {
		t.Fatal(err)
	}
	to, err := Open(second)
	if err != nil {
		t.Fatal(err)
	}
	kernel, _, err := to.Numbers("from/kernel")
	if err != nil || !slices.Equal(kernel, []float32{1, -2}) || !slices.Equal(to.Variables()[0].Shape, []int{2, 1}) {
		t.Errorf("kernel %v of %v: %v", kernel, to.Variables()[0], err)
	}
	text, err := to.Strings("from/text")
	if err != nil || len(text) != 1 || !bytes.Equal(text[0], []byte("words")) {
		t.Errorf("text %q: %v", text, err)
	}
	_, err = from.Copy("bias", "bias")
	wantError(t, err, `variable "bias": no such variable`)
}
