package python_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

// One base, which takes seconds to make, is enough for everything that is installed over it.
func TestRequirements(t *testing.T) {
	t.Setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple") // no registry is reached
	opts := tiny(t)
	opts.Pip = true
	if _, err := python.Make(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	for name, check := range map[string]func(*testing.T, python.Options){
		"are laid over the environment": requirementsAreLaidOver, "that cannot be are named": impossibleRequirementsAreNamed,
		"may come from nowhere": requirementsMayComeFromNowhere,
	} {
		t.Run(name, func(t *testing.T) { check(t, python.Options{Home: opts.Home, CacheDir: t.TempDir()}) })
	}
}

func requirementsAreLaidOver(t *testing.T, opts python.Options) {
	base, err := python.Find(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	// extra needs a package that the base has: nothing is fetched for it
	opts.Requirements = []string{wheel(t, "other", "2.0", ""), wheel(t, "extra", "1.0", "word = 'first'", "tensorflow>=9")}
	e, err := python.Find(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	const script = "import extra, other, tensorflow; print(extra.word, tensorflow.lazy)"
	if out, err := exec.Command(e.Interpreter, "-I", "-c", script).CombinedOutput(); err != nil || string(out) != "first 1\n" {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := exec.Command(base.Interpreter, "-c", "import extra").CombinedOutput(); err == nil {
		t.Errorf("the base was changed: %s", out)
	}
	if e.Digest == base.Digest {
		t.Error("other packages, the same digest")
	}

	opts.Requirements[0], opts.Requirements[1] = opts.Requirements[1], opts.Requirements[0]
	if again, err := python.Find(t.Context(), opts); err != nil || again.Interpreter != e.Interpreter || again.Digest != e.Digest {
		t.Errorf("in another order: %+v, %v, want that of before", again, err)
	}
	made, err := python.All(python.InCache(opts.CacheDir))
	if err != nil || len(made) != 1 || made[0].Base != base.Interpreter || len(made[0].Requirements) != 2 {
		t.Errorf("%+v, %v, want one environment with its requirements", made, err)
	}

	text, err := os.ReadFile(wheel(t, "extra", "1.0", "word = 'second'"))
	if err != nil {
		t.Fatal(err)
	}
	// The same name and version.
	if err := os.WriteFile(opts.Requirements[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := python.Find(t.Context(), opts)
	if err != nil || changed.Interpreter == e.Interpreter || changed.Digest == e.Digest {
		t.Errorf("a wheel of other content: %+v, %v", changed, err)
	}
}

func impossibleRequirementsAreNamed(t *testing.T, opts python.Options) {
	t.Setenv("PIP_NO_INDEX", "1") // there is a registry, and it is empty
	needs := wheel(t, "needs", "1.0", "", "tensorflow<9")
	for requirement, want := range map[string]string{
		"no-such-package-of-anybody>=2":          "install no-such-package-of-anybody>=2",
		"tensorflow<9":                           "install tensorflow<9 (the environment has 9.9",
		needs:                                    "the requirement tensorflow<9 (from needs)",
		"/no/such-1.0-py3-none-any.whl":          "no such file",
		"--index-url=https://elsewhere.example/": "is an option of pip",
	} {
		opts.Requirements = []string{requirement}
		_, err := python.Find(t.Context(), opts)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "module.requirements: ") {
			t.Errorf("%s: %v, want %q", requirement, err, want)
		}
	}
	if made, err := python.All(python.InCache(opts.CacheDir)); err != nil || len(made) > 0 {
		t.Errorf("what failed left %+v, %v", made, err)
	}
}

func requirementsMayComeFromNowhere(t *testing.T, opts python.Options) {
	opts.Requirements = []string{"humanize"}
	_, err := python.Find(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "install humanize: this worker can't reach a package registry") {
		t.Error(err)
	}
}
