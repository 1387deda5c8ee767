package tfrecord_test

import (
	"bytes"
	"fmt"
	"io"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// Records are written to memory, and read back. A damaged one is found by its checksum.
func ExampleNewWriter() {
	var file bytes.Buffer
	w := tfrecord.NewWriter(&file)
	for _, record := range []string{"first", "second"} {
		if err := w.Append([]byte(record)); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	text := file.Bytes()
	text[len(text)-5] ^= 1 // the last byte of the second record

	r := tfrecord.NewReader("rows", bytes.NewReader(text))
	for {
		record, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println("corrupt:", tfrecord.Corrupt(err))
			return
		}
		fmt.Println(string(record))
	}
	// Output:
	// first
	// corrupt: true
}
