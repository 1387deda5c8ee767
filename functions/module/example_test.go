package module_test

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/functions/module"
)

// A module reads its configuration into a struct with defaults. A misspelled key is an error.
func ExampleAssignment_Config() {
	config := struct {
		Label string `json:"label"`
		Units int    `json:"units"`
	}{Units: 8}
	a := module.Assignment{CustomConfig: map[string]any{"label": "species"}}
	fmt.Println(a.Config(&config), config)

	a.CustomConfig["unit"] = 16
	fmt.Println(a.Config(&config))
	// Output:
	// <nil> {species 8}
	// custom_config: unknown key "unit"; did you mean units?
}

// The values that a search found replace the module's own defaults.
func ExampleAssignment_Tuned() {
	hyperparameters := struct {
		Units        int     `json:"units"`
		LearningRate float64 `json:"learning_rate"`
	}{Units: 8, LearningRate: 0.01}
	a := module.Assignment{Hyperparameters: map[string]any{"values": map[string]any{"units": 32, "dropout": 0.1}}}
	fmt.Println(a.Tuned(&hyperparameters), hyperparameters)
	// Output: <nil> {32 0.01}
}

// A module that finds a fault in its data says so: no retry helps then.
func ExampleBadInput() {
	err := fmt.Errorf("train: %w", module.BadInput(errors.New("record 7 has no label")))
	if e, ok := errors.AsType[*module.Error](err); ok {
		fmt.Println(e.Kind, "-", e.Message)
	}
	// Output: input - record 7 has no label
}

// What a TFX module needs is named as for pip, without the installer's options.
func ExampleParseRequirement() {
	r, err := module.ParseRequirement(`humanize>=4.0; python_version < "3.13"`)
	fmt.Println(r.Name, err)
	_, err = module.ParseRequirement("--index-url https://example.com")
	fmt.Println(err)
	// Output:
	// humanize <nil>
	// requirement "--index-url https://example.com": is an option of pip; the worker's pip.conf or PIP_ variables configure pip
}
