package module

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Source says what is run and how it is called. In JSON it is the Path alone, a string, where nothing else is said.
type Source struct {
	// Path is builtin:<name>; or a file, folder or archive: of this machine where a module is run, at an address (s3://...) where a
	// pipeline names it. A Go program is a folder of source or a built binary. A TFX module is a .py file, a folder, or an archive
	// (.zip, .whl, .tar.gz, .tgz) of one that has siblings.
	Path string `json:"path" jsonschema:"required,description=builtin:<name>\\, or a file\\, folder or archive here or at an address"`

	// Of TFX modules alone.

	RunFn        string   `json:"run_fn,omitempty" jsonschema:"description=Of a TFX module: dotted name of the function. Left out: run_fn or trainer_fn of the module file"`                                                               // dotted name, my_module.fn; "": run_fn, else trainer_fn, of the one module file
	TunerFn      string   `json:"tuner_fn,omitempty" jsonschema:"description=Of a TFX module: dotted name of the function. Left out: tuner_fn of the module file"`                                                                         // the same; "": tuner_fn
	Python       string   `json:"python,omitempty" jsonschema:"description=Interpreter with TensorFlow\\, or the folder of its environment. Left out: STOKER_PYTHON\\, else what stoker python setup made"`                                // interpreter with TensorFlow, or the folder of its environment; "": STOKER_PYTHON, else the one made by stoker python setup
	Keras        string   `json:"keras,omitempty" jsonschema:"enum=auto,enum=2,enum=3,default=auto"`                                                                                                                                       // "2" or "3"; "" or "auto": what the module needs
	Requirements []string `json:"requirements,omitempty" jsonschema:"description=Packages in addition to those of the environment\\, as in requirements.txt"`                                                                              // packages beside those of the environment, as in requirements.txt
	Autograph    string   `json:"autograph,omitempty" jsonschema:"enum=user,enum=all,default=user,description=What AutoGraph converts: the module's own code\\, or also that of TFT and tfx_bsl\\, which takes longer and gives the same"` // what AutoGraph converts: "" or "user": the module's code, not TFT's and tfx_bsl's; "all": theirs too
}

// Source.Keras.
const (
	KerasAuto = "auto"
	Keras2    = "2"
	Keras3    = "3"
)

// Source.Autograph.
const (
	AutographUser = "user"
	AutographAll  = "all"
)

// PythonKeys are the keys that are set and that only a TFX module has a use for, as a pipeline writes them.
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

// String is for messages.
func (s Source) String() string { return s.Path }

// Function is the name that a pipeline gives the function for a call, dotted or not; "" where it names none.
func (s Source) Function(call Call) string {
	if call == CallTrain {
		return s.RunFn
	}
	return s.TunerFn
}

// plain is Source without its way of being written.
type plain Source

// MarshalJSON writes a string where the path is all there is.
func (s Source) MarshalJSON() ([]byte, error) {
	if reflect.DeepEqual(s, Source{Path: s.Path}) {
		return json.Marshal(s.Path)
	}
	return json.Marshal(plain(s))
}

// UnmarshalJSON takes both forms.
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
