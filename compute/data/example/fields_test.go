package example

import (
	"bytes"
	"testing"
)

// A value in many small parts is not copied once for each: such a record would take hours.
func TestAValueInManyPartsIsCopiedAFewTimes(t *testing.T) {
	const parts = 100_000
	message := bytes.Repeat([]byte{2<<3 | 2, 1, 'x'}, parts) // a map entry's value: one byte a part
	before := bytes.Clone(message)
	_, value, err := entry(message)
	if err != nil || !bytes.Equal(value, bytes.Repeat([]byte{'x'}, parts)) {
		t.Errorf("%d bytes, %v", len(value), err)
	}
	if !bytes.Equal(message, before) {
		t.Error("the record was written to")
	}
	if copies := testing.AllocsPerRun(1, func() { _, _, _ = entry(message) }); copies > 1000 {
		t.Errorf("%v copies", copies)
	}
}
