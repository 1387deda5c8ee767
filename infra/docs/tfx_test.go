//go:build tfx

package docs_test

import (
	"reflect"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// signaturesOf reads the components' source: importing them takes a minute, and more of TFX than is
// installed.
const signaturesOf = `
import ast, importlib.metadata, os, sys

def check(given):
    site = next(p for p in sys.path if os.path.exists(os.path.join(p, "tfx", "components")))
    out = {"TFX": importlib.metadata.version("tfx")}
    for name in ("Trainer", "Tuner"):
        tree = ast.parse(open(os.path.join(site, "tfx", "components", name.lower(), "component.py")).read())
        cls = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
        init = next(n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
        out[name] = [a.arg for a in init.args.args[1:]]
    return out
`

func TestTFXSignaturesAreAsRecorded(t *testing.T) {
	t.Parallel()
	var got signatures
	tftest.RunAnalysis(t, signaturesOf, map[string]any{}, &got)
	if want := recorded(t); !reflect.DeepEqual(got, want) {
		t.Errorf("TFX has %+v, recorded is %+v", got, want)
	}
}
