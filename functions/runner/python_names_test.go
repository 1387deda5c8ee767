package runner_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner"
)

// A file beside the module may have the name of something that a warm process has imported: it is imported as in a cold one.
func TestAModulesOwnFilesComeFirstHoweverItIsStarted(t *testing.T) {
	t.Parallel()
	for _, way := range runner.Warmth() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			host := runnerOf(t, runner.Options{Warm: 1, PythonWarm: way, Env: []string{"STOKER_PRELOAD=colorsys,wsgiref.util"}})
			a := pythonAssignment(t, `
def run_fn(fn_args):
    import colorsys, wsgiref.util, wsgiref.headers
    assert colorsys.mine and wsgiref.util.guess_scheme, colorsys.__file__
    assert len(colorsys.rgb) == 3
`)
			dir := filepath.Dir(a.Module.Path)
			for name, text := range map[string]string{
				"colorsys.py": "mine = True\nimport colours\nrgb = colours.three\n", "colours.py": "three = 'rgb'\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "wsgiref"), 0o755); err != nil { // no package: it hides nothing
				t.Fatal(err)
			}
			if outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
				t.Error(err, outcome.LogTail)
			}
		})
	}
}
