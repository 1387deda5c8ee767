package logs_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/functions/runs/logs"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// The last lines of a log that is in the store. Of a progress bar, which overwrites its line, the
// last text is printed.
func ExampleCopy() {
	ctx, store := context.Background(), storagetest.NewMemory()
	const text = "reading 3 files\nstep 1 of 2\rstep 2 of 2\nsaved the model\n"
	ref := storage.Ref{Bucket: "artifacts", Key: "penguin/Trainer/log.txt"}
	if _, err := store.Put(ctx, ref, strings.NewReader(text), int64(len(text))); err != nil {
		fmt.Println(err)
		return
	}
	out := &logs.Printer{To: os.Stdout, Notes: os.Stderr, Tail: 2}
	if err := logs.Copy(ctx, store, ref.String(), out); err != nil {
		fmt.Println(err)
	}
	if err := out.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// step 2 of 2
	// saved the model
}

// A Printer prints each line once it is complete, and what is left when it is closed.
func ExamplePrinter() {
	out := &logs.Printer{To: os.Stdout}
	for _, part := range []string{"epoch 1: ", "loss 0.5\nepoch", " 2: \x1b[32mloss 0.25\x1b[0m"} {
		if _, err := out.Write([]byte(part)); err != nil {
			fmt.Println(err)
		}
	}
	if err := out.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// epoch 1: loss 0.5
	// epoch 2: loss 0.25
}
