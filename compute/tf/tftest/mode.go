package tftest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// modeVariable determines the source of TensorFlow's answers: empty or "golden", "live" or
// "record".
const modeVariable = "STOKER_TENSORFLOW"

type mode int

const (
	// golden reads the answers that are kept in testdata/tensorflow and starts no Python.
	golden mode = iota
	// live runs the installed TensorFlow, and compares its answers with the kept ones.
	live
	// record runs the installed TensorFlow and keeps its answers.
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

// needLive skips the test unless the real TensorFlow was requested, with a message that explains
// how to run it.
func needLive(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the real TensorFlow; -short leaves it out")
	}
	if modeOf(t) == golden {
		t.Skipf("needs a Python with the real TensorFlow: %s=live installs it once into the user's cache folder (2 GB, some minutes) and runs this test, as task test and CI do", modeVariable)
	}
}

// Interpreter is like Python, without a test: for commands that measure Stoker against TensorFlow.
func Interpreter() (string, error) { return installed() }

// Number is a float in a script's answer. JSON has no NaN and no infinities, so these are strings.
type Number float64

// UnmarshalJSON takes a JSON number, or a string that spells one: "nan", "-inf", "Infinity".
func (n *Number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil {
		return fmt.Errorf("number %s: %w", b, err)
	}
	*n = Number(v)
	return nil
}

// Python3 returns the path of the machine's own python3, for tests that need only its standard
// library. If there is none, and with -short, Python3 skips the test with a message; with
// STOKER_TENSORFLOW=live or record, as in CI, it fails the test.
func Python3(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs python3; -short leaves it out")
	}
	python, err := FindPython3()
	if err != nil {
		t.Fatal(err)
	}
	if python == "" {
		t.Skip(WithoutPython3)
	}
	return python
}

// WithoutPython3 is the reason why a test is skipped if FindPython3 finds nothing.
const WithoutPython3 = "needs python3 (3.10 or later, Debian's package python3-venv) on the PATH, and only its standard library"

// FindPython3 returns the path of the machine's own python3, or "" if there is none and tests that
// need one are skipped. It returns an error if there is none and no test may be skipped.
func FindPython3() (string, error) {
	m, err := currentMode()
	if err != nil {
		return "", err
	}
	python, err := exec.LookPath("python3")
	if err != nil && m != golden {
		return "", fmt.Errorf("test with %s=%s: %w: %s", modeVariable, os.Getenv(modeVariable), err, WithoutPython3)
	}
	if err != nil {
		return "", nil
	}
	return python, nil
}
