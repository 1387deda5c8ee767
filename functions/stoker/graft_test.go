package main

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stoker-ml/stoker/compute/tf/graphtest"
)

// graft adds operations to a transform graph that copy one file to another: graft SAVED_MODEL FROM
// TO.
func graft(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: graft SAVED_MODEL FROM TO")
	}
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	data, err = graphtest.Copy(data, args[1], args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(file, data, 0o600))
}
