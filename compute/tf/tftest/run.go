package tftest

import (
	"encoding/json"
	"testing"
)

// Python returns the path of a Python interpreter that has TensorFlow, tf.Transform, tfx-bsl and
// KerasTuner. The first call on a machine installs it, which takes minutes: only with
// STOKER_TENSORFLOW=live or record. Otherwise, and with -short, Python skips the test with a
// message; without python3 or a package registry it fails the test.
func Python(t testing.TB) string {
	t.Helper()
	needLive(t)
	python, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// EstimatorPython returns the interpreter of the environment with Estimators, tf.Transform and
// tfx-bsl of their time, for the second tier of tests.
func EstimatorPython(t testing.TB) string {
	t.Helper()
	skipShort(t)
	python, err := estimatorInstalled()
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// AnalysisPython returns the interpreter of the environment with TensorFlow Model Analysis, which
// also has files of TFX, for the second tier of tests.
func AnalysisPython(t testing.TB) string {
	t.Helper()
	skipShort(t)
	python, err := analysisInstalled()
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// OrbaxPackages returns a directory with Orbax and JAX, for the second tier of tests. A script of
// Python's interpreter appends it to sys.path: packages that are in both environments come from the
// interpreter's own.
func OrbaxPackages(t testing.TB) string {
	t.Helper()
	skipShort(t)
	python, err := orbaxInstalled()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := command(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Run passes in (as JSON) to the function check(input) of a Python script, and decodes its result
// into out, a pointer. In the script tf and np are imported, and b64 decodes base64, the form in
// which []byte is passed; returned tensors, arrays and bytes become JSON lists, numbers and base64;
// a Number can be NaN or an infinity too. Inputs that may contain them are passed as strings.
//
// Without STOKER_TENSORFLOW nothing is installed: the answer is the one kept in the test's package,
// in testdata/tensorflow/<test>.json.gz, for this script and this input. Paths in the input
// represent the contents of their files, and files that the script wrote below them are kept and
// written again. A test that keeps no answers is skipped with a message that explains how to run
// it; one that keeps answers, but none to this question, fails. With live the real TensorFlow
// answers, and a kept answer that is missing or differs from TensorFlow's fails the test; with
// record the answer is kept. Use RunLive if the input or the answer differs from run to run or
// between processors.
//
// Each script runs in a process of its own, forked from one that has imported TensorFlow, one at a
// time, for 10 minutes of processor time at most. Its output is in the test's log. An exception
// fails the test with the traceback.
func Run(t testing.TB, script string, in, out any) {
	t.Helper()
	decode(t, answerOf(t, request{Script: script, Input: in}), out)
}

// RunLive is like Run, but always runs the real TensorFlow, and keeps no answer.
func RunLive(t testing.TB, script string, in, out any) {
	t.Helper()
	needLive(t)
	decode(t, ask(t, shared, request{Script: script, Input: in}), out)
}

// RunAnalysis is like Run, in a separate environment for the second tier of tests: TensorFlow 2.16
// with TensorFlow Model Analysis, tfx_bsl and the other parts of TFX that read models.
func RunAnalysis(t testing.TB, script string, in, out any) {
	t.Helper()
	decode(t, ask(t, analysisShared, request{Script: script, Input: in}), out)
}

// RunEstimator is like Run, in a separate environment for the second tier of tests: TensorFlow
// 2.15, the last that has Estimators.
func RunEstimator(t testing.TB, script string, in, out any) {
	t.Helper()
	decode(t, ask(t, estimatorShared, request{Script: script, Input: in}), out)
}

func decode(t testing.TB, a answer, out any) {
	t.Helper()
	if a.Error != "" {
		t.Fatalf("script: %s", a.Error)
	}
	if err := json.Unmarshal(a.Output, out); err != nil {
		t.Fatalf("decode answer of script: %v: %.200s", err, a.Output)
	}
}

// Fail runs a script that has to raise an exception and returns the traceback's text. Its answers
// are kept like those of Run.
func Fail(t testing.TB, script string, in any) string {
	t.Helper()
	a := answerOf(t, request{Script: script, Input: in})
	if a.Error == "" {
		t.Fatalf("script raised nothing and returned %.200s", a.Output)
	}
	return a.Error
}

// answerOf returns the kept answer to a request, or that of the real TensorFlow, by the mode.
func answerOf(t testing.TB, r request) answer {
	t.Helper()
	skipShort(t)
	m := modeOf(t)
	g := goldenOf(t, m)
	q, err := questionOf(r)
	if err != nil {
		t.Fatal(err)
	}
	if m == golden {
		return answerKept(t, g, q)
	}
	a := ask(t, shared, r)
	k, err := q.pack(a)
	if err != nil {
		t.Fatal(err)
	}
	if m == record {
		err = g.keep(q.key, k)
	} else {
		err = g.check(q.key, k)
	}
	if err != nil {
		t.Error(err)
	}
	return a
}

func answerKept(t testing.TB, g *goldenFile, q question) answer {
	t.Helper()
	k, found, none, err := g.find(q.key)
	switch {
	case err != nil:
		t.Fatal(err)
	case none:
		needLive(t)
	case !found:
		t.Fatalf("%s has no answer of TensorFlow to this question: the script, its input or a file that it names has changed; `task golden` asks TensorFlow again", g.path)
	}
	a, err := q.unpack(k)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func ask(t testing.TB, server func() (*server, error), r request) answer {
	t.Helper()
	skipShort(t)
	s, err := server()
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.ask(r)
	if err != nil {
		t.Fatal(err)
	}
	if a.Log != "" {
		t.Logf("Python: %s", a.Log)
	}
	return a
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the real TensorFlow; -short leaves it out")
	}
}
