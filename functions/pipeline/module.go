package pipeline

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// Module is the module of a pipeline: a string (module: ./penguin_utils.py), or a mapping if a TFX
// module file needs further keys.
type Module module.Source

// Source returns the form that functions/runner runs.
func (m Module) Source() module.Source { return module.Source(m) }

// IsBuiltin reports whether the module is compiled in.
func (m Module) IsBuiltin() bool { return strings.HasPrefix(m.Path, module.BuiltinPrefix) }

// MarshalJSON writes a string if only the path is set, as in earlier versions.
func (m Module) MarshalJSON() ([]byte, error) { return m.Source().MarshalJSON() }

func (m *Module) long(n node) (node, error) {
	switch v := n.value.(type) {
	case string:
		return node{at: n.at, value: []field{{key: "path", at: n.at, node: n}}}, nil
	case []field:
		for i, f := range v {
			if word, ok := plainWord(f.node); ok && f.key == "keras" { // YAML parses 3 as a number
				v[i].node.value = word
			}
		}
	}
	return n, nil
}

func (m *Module) forms() string {
	return "builtin:<name>, a path or an address, or a mapping like {path: ./penguin_utils.py, keras: 3}"
}

func (r *report) module(m Module) {
	const key = "module"
	name, builtin := strings.CutPrefix(m.Path, module.BuiltinPrefix)
	switch {
	case m.Path == "":
		r.add(key, "missing, expected builtin:<name>, a TFX module file, a folder with a Go program, or a built one")
	case builtin && name == "":
		r.add(key, "expected a name behind %s", module.BuiltinPrefix)
	case strings.ContainsRune(m.Path, 0):
		r.add(key, "holds a zero byte")
	}
	if m.IsBuiltin() {
		for _, of := range m.Source().PythonKeys() {
			r.add(join(key, of), "applies only to TFX modules, not to %s", shorten(m.Path))
		}
		return
	}
	r.dotted("module.run_fn", m.RunFn)
	r.dotted("module.tuner_fn", m.TunerFn)
	if strings.Contains(m.Python, "://") {
		r.add("module.python", "expected an interpreter or an environment's folder on the worker, got %q", shorten(m.Python))
	}
	for i, requirement := range m.Requirements {
		at := fmt.Sprintf("module.requirements[%d]", i)
		if _, err := module.ParseRequirement(requirement); err != nil {
			r.add(at, "%v", err)
		}
	}
}

// dottedName is the form of a function in Python: run_fn, my_module.run_fn, models.wide.run_fn.
var dottedName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$`)

func (r *report) dotted(key, name string) {
	if name != "" && !dottedName.MatchString(name) {
		r.add(key, "expected the dotted name of a function, like my_module.run_fn, got %q", shorten(name))
	}
}
