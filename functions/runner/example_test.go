package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A module is any program that speaks the protocol. This one is a shell script, and finds fault with its data.
func ExampleRunner_Run() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "module.sh")
	const text = `#!/bin/sh
read -r assignment
echo '{"type":"progress","phase":"training","step":1,"steps":10}' >&$STOKER_PROGRESS_FD
echo 'looking at record 7'
echo '{"type":"error","error":{"kind":"input","message":"record 7 has no label"}}' >&$STOKER_PROGRESS_FD
exit 1
`
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		panic(err)
	}

	host, err := runner.New(runner.Options{})
	if err != nil {
		panic(err)
	}
	defer host.Close()
	_, err = host.Run(context.Background(), module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: program}, Call: module.CallTrain,
		TrainFiles: []string{"/data/Split-train/*"}, ServingModelDir: filepath.Join(dir, "Format-Serving"),
	}, runner.Limits{Timeout: time.Minute, MemoryBytes: 1 << 30}, func(m module.Message) {
		fmt.Println(m.Phase, m.Step, "of", m.Steps)
	})
	if failed, ok := errors.AsType[*runner.Error](err); ok {
		fmt.Printf("%s: %s\n", failed.Kind, errors.Unwrap(failed.Err))
		fmt.Printf("log: %s", failed.LogTail)
	}
	// Output:
	// training 1 of 10
	// input: record 7 has no label
	// log: looking at record 7
}
