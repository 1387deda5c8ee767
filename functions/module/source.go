package module

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Source says which code runs and how it is called. If only Path is set, the JSON form is the path
// alone, a string.
type Source struct {
	// Path is builtin:<name>; or a file, folder or archive: a local path where the module runs, an
	// address (s3://...) where a pipeline names it. A Go program is a folder of source or a built
	// binary. A TFX module is a .py file, a folder, or an archive (.zip, .whl, .tar.gz, .tgz) of
	// one with siblings.
	Path string `json:"path" jsonschema:"required,minLength=1,description=builtin:<name>\\, or a file\\, directory or archive on the worker's machine or at an address in the store"`

	// For TFX modules only.

	// Dotted name, my_module.fn; "": run_fn, else trainer_fn, of the one module file.
	RunFn string `json:"run_fn,omitempty" jsonschema:"description=Dotted name of a TFX module's function. Default: run_fn or trainer_fn of the module file"`
	// The same; "": tuner_fn.
	TunerFn string `json:"tuner_fn,omitempty" jsonschema:"description=Dotted name of a TFX module's function. Default: tuner_fn of the module file"`
	// Interpreter with TensorFlow, or the folder of its environment; "": STOKER_PYTHON, else the
	// one of stoker python setup.
	Python string `json:"python,omitempty" jsonschema:"description=Interpreter with TensorFlow\\, or the directory of its environment. Default: STOKER_PYTHON\\, or the environment that stoker python setup made"`
	// "2" or "3"; "" or "auto": what the module needs
	Keras string `json:"keras,omitempty" jsonschema:"enum=auto,enum=2,enum=3,default=auto,description=Version of Keras; auto: the version that the module needs"`
	// Packages in addition to those of the environment, as in requirements.txt.
	Requirements []string `json:"requirements,omitempty" jsonschema:"description=Packages in addition to those of the environment\\, as in requirements.txt. Default: none"`
	// The code that AutoGraph converts: "" or "user": the module's, not that of TFT and tfx_bsl;
	// "all": theirs too.
	Autograph string `json:"autograph,omitempty" jsonschema:"enum=user,enum=all,default=user,description=Code that AutoGraph converts: the module's own\\, or also that of TFT and tfx_bsl\\, which takes longer and has the same result"`
}

// Values of Source.Keras.
const (
	KerasAuto = "auto"
	Keras2    = "2"
	Keras3    = "3"
)

// Values of Source.Autograph.
const (
	AutographUser = "user"
	AutographAll  = "all"
)

// PythonKeys returns the keys that are set and that apply only to TFX modules, as a pipeline writes
// them.
func (s Source) PythonKeys() []string {
	var keys []string
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"run_fn", s.RunFn != ""}, {"tuner_fn", s.TunerFn != ""}, {"python", s.Python != ""}, {"keras", s.Keras != ""},
		{"requirements", len(s.Requirements) > 0}, {"autograph", s.Autograph != ""},
	} {
		if k.set {
			keys = append(keys, k.name)
		}
	}
	return keys
}

// String returns the path, for messages.
func (s Source) String() string { return s.Path }

// Function returns the name that a pipeline gives the function for a call, dotted or not; "" if it
// gives none.
func (s Source) Function(call Call) string {
	if call == CallTrain {
		return s.RunFn
	}
	return s.TunerFn
}

// plain is Source without its methods.
type plain Source

// MarshalJSON writes a string if only the path is set.
func (s Source) MarshalJSON() ([]byte, error) {
	if reflect.DeepEqual(s, Source{Path: s.Path}) {
		return json.Marshal(s.Path)
	}
	return json.Marshal(plain(s))
}

// UnmarshalJSON accepts both forms.
func (s *Source) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte(`"`)) {
		*s = Source{}
		return json.Unmarshal(text, &s.Path)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(s)); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return nil
}
