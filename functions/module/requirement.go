package module

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Requirement is one package that a TFX module needs in addition to its environment, as in
// Source.Requirements and requirements.txt. It holds no installer options, and nothing that would
// be built or run during installation.
type Requirement struct {
	Text  string // for the installer: humanize>=4.0; python_version < "3.13"
	Name  string // of the package; "" if only a wheel is named
	Wheel string // path of a wheel on this machine; ""
	URL   string // https address of a wheel; ""
}

// maxRequirement is the maximum length. The longest in practice have many versions and a marker.
const maxRequirement = 1000

var (
	requirementName    = `[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`
	requirementExtras  = `(?:\s*\[\s*` + requirementName + `(?:\s*,\s*` + requirementName + `)*\s*\])?`
	requirementVersion = `\s*(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*`
	requirementMarker  = `(?:;[\w\s.<>=!~'"()+*-]+)?`

	ofVersions = regexp.MustCompile(`^(` + requirementName + `)` + requirementExtras +
		`\s*(?:` + requirementVersion + `(?:,` + requirementVersion + `)*)?` + requirementMarker + `$`)
	ofAddress = regexp.MustCompile(`^(` + requirementName + `)` + requirementExtras + `\s*@\s*(\S+)\s*` + requirementMarker + `$`)
)

// ParseRequirement parses a name with versions, extras and a marker (PEP 508), a path of a wheel on
// this machine, or an https address of one. Options (--index-url, -r, -e), source archives and
// other addresses are errors: a pipeline says what is installed, and the worker's own settings say
// from where.
func ParseRequirement(text string) (Requirement, error) {
	refuse := func(format string, args ...any) (Requirement, error) {
		return Requirement{}, fmt.Errorf("requirement %.100q: "+format, append([]any{text}, args...)...)
	}
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return refuse("is empty")
	case len(trimmed) > maxRequirement:
		return refuse("is longer than %d bytes", maxRequirement)
	case strings.ContainsAny(trimmed, "\n\r\x00"):
		return refuse("expected one package, on one line")
	case strings.HasPrefix(trimmed, "-"):
		return refuse("is an option of pip; the worker's pip.conf or PIP_ variables configure pip")
	case strings.Contains(trimmed, "://"):
		return ofURL(trimmed, refuse)
	case strings.HasSuffix(trimmed, ".whl"):
		return Requirement{Text: trimmed, Wheel: trimmed}, nil
	}
	if match := ofVersions.FindStringSubmatch(trimmed); match != nil {
		return Requirement{Text: trimmed, Name: match[1]}, nil
	}
	return refuse("expected a name with versions (humanize>=4.0), the path of a wheel (.whl), or an https address of one")
}

// ofURL parses https://.../x.whl, and name @ https://.../x.whl.
func ofURL(text string, refuse func(string, ...any) (Requirement, error)) (Requirement, error) {
	name, address := "", text
	if match := ofAddress.FindStringSubmatch(text); match != nil {
		name, address = match[1], match[2]
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || strings.ContainsAny(address, " \t"):
		return refuse("is not the address of a wheel")
	case u.Scheme != "https":
		return refuse("%s is not supported to fetch a package: expected https", u.Scheme)
	case !strings.HasSuffix(u.Path, ".whl"):
		return refuse("is not a wheel: packages that must be built are not installed")
	case u.User != nil:
		return Requirement{}, fmt.Errorf("requirement %.100q: holds a password: keep it in the worker's netrc", u.Redacted())
	}
	return Requirement{Text: text, Name: name, URL: address}, nil
}

// Formats returns the values allowed in Assignment.Exports. compute/export maps them to files.
func Formats() []string { return []string{"tflite", "tflite-float16", "tflite-int8", "onnx"} }

// Values of Assignment.Strategy: how several processes or devices train one model. All of them are
// strategies of tf.distribute, for TFX modules only. The module's function runs in the scope of the
// strategy, and a strategy that it creates itself is this one.
const (
	StrategyMirrored = "mirrored" // MirroredStrategy: all GPUs of one process, or its CPU
	// MultiWorkerMirroredStrategy: Workers processes with a TF_CONFIG.
	StrategyMultiWorker = "multi_worker"
	StrategyTPU         = "tpu" // TPUStrategy: the TPU that TPU_NAME names, or that of this machine
)

// MaxWorkers keeps a typing error from overloading a machine: each worker is a process with its own
// TensorFlow.
const MaxWorkers = 64

// indifferent are the keys of a builtin module's custom_config that affect how its result is
// computed, but not the result.
var indifferent = []string{"checkpoint_every", "checkpoint_seconds", "threads"}

// Deciding returns the part of a custom_config that affects the result of the module at that path.
// For a builtin module that is all except the number of threads and the times of checkpoints; for
// any other module it is all. custom is not modified.
func Deciding(path string, custom map[string]any) map[string]any {
	if !strings.HasPrefix(path, BuiltinPrefix) {
		return custom
	}
	deciding := maps.Clone(custom)
	maps.DeleteFunc(deciding, func(key string, _ any) bool { return slices.Contains(indifferent, key) })
	return deciding
}
