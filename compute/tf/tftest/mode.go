package tftest

import (
	"fmt"
	"os"
	"testing"
)

// modeVariable says where the answers of TensorFlow come from: nothing or "golden", "live" or
// "record".
const modeVariable = "STOKER_TENSORFLOW"

type mode int

const (
	// golden reads the answers that are kept in testdata/tensorflow and starts no Python.
	golden mode = iota
	// live asks the installed TensorFlow, and compares what it answers with what is kept.
	live
	// record asks the installed TensorFlow and keeps what it answers.
	record
)

func currentMode() (mode, error) {
	switch v := os.Getenv(modeVariable); v {
	case "", "golden":
		return golden, nil
	case "live":
		return live, nil
	case "record":
		return record, nil
	default:
		return golden, fmt.Errorf("%s=%s: want golden, live or record", modeVariable, v)
	}
}

func modeOf(t testing.TB) mode {
	t.Helper()
	m, err := currentMode()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// needLive skips the test unless the real TensorFlow was asked for, and says how to run it.
func needLive(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the real TensorFlow; -short leaves it out")
	}
	if modeOf(t) == golden {
		t.Skipf("needs a Python with the real TensorFlow: %s=live installs it once into the user's cache folder (2 GB, some minutes) and runs this test, as task test and CI do", modeVariable)
	}
}
