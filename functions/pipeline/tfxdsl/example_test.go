package tfxdsl_test

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/stoker-ml/stoker/functions/pipeline/tfxdsl"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A file of TFX's DSL becomes a pipeline file. It needs a Python, but neither TFX nor TensorFlow.
func ExampleRecord() {
	recorded, err := tfxdsl.Record(context.Background(), "penguin_pipeline.py", tfxdsl.Options{
		Python:  "/usr/bin/python3",
		Timeout: time.Minute,
		// It is untrusted code.
		Run: func(cmd *exec.Cmd) error { return runner.RunConfined(cmd, nil) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := recorded.Pipeline()
	if err != nil {
		fmt.Println(err) // no pipeline can say this; the error names argument and line
		return
	}
	fmt.Printf("%s", text)
	for _, warning := range tfxdsl.Warnings(text) {
		fmt.Println("not expressed:", warning)
	}
}
