package python

import (
	"fmt"
	"slices"
	"strings"
)

// wanted are what module files import, each with the package that brings it.
func wanted() []dependency {
	return []dependency{
		{Module: "tensorflow", Package: "tensorflow"},
		{Module: "tensorflow_transform", Package: "tensorflow-transform"},
		{Module: "tfx_bsl", Package: "tfx-bsl"},
		{Module: "keras_tuner", Package: "keras-tuner"},
		{Module: "tensorboard", Package: "tensorboard"},
		{Module: "tf_keras", Package: "tf_keras"}, // Keras 2, which TensorFlow below 2.16 brings itself
	}
}

// dependency is a module that TFX module files import.
type dependency struct {
	Module  string `json:"module"`
	Package string `json:"package"` // as pip calls it
}

// oldest is the Python that the driver needs at least.
var oldest = [2]int{3, 10}

// fit is an error that says in one line why no TFX module can run in the environment.
func (e Environment) fit() error {
	if err := e.newEnough(); err != nil {
		return err
	}
	if slices.Contains(e.modules, "tensorflow") {
		return nil
	}
	lacks := e.Lacks()
	return fmt.Errorf("%s lacks %s: run `%s`, or `stoker python setup` for an environment that has it all",
		e.Interpreter, strings.Join(lacks, ", "), e.toAdd(lacks))
}

// newEnough is an error where the driver can't run.
func (e Environment) newEnough() error {
	if major, minor := e.minor(); major > oldest[0] || major == oldest[0] && minor >= oldest[1] {
		return nil
	}
	return fmt.Errorf("%s is Python %s, which is too old: TFX modules are run by %d.%d or later "+
		"(`stoker python setup` makes an environment)", e.Interpreter, e.Version, oldest[0], oldest[1])
}

// Lacks names the packages of those that TFX module files import that are not there. A module that
// needs none of them runs all the same.
func (e Environment) Lacks() []string {
	var lacks []string
	for _, w := range wanted() {
		if !slices.Contains(e.modules, w.Module) && !(w.Module == "tf_keras" && e.hasOwnKeras2()) {
			lacks = append(lacks, w.Package)
		}
	}
	return lacks
}

// toAdd is the command that adds packages, as a person would type it.
func (e Environment) toAdd(packages []string) string {
	return e.Interpreter + " -m pip install " + strings.Join(packages, " ")
}

// hasOwnKeras2 says whether its TensorFlow, below 2.16, has Keras 2 in it.
func (e Environment) hasOwnKeras2() bool {
	for _, name := range tensorFlows() {
		var major, minor int
		if n, _ := fmt.Sscanf(e.Packages[name], "%d.%d", &major, &minor); n == 2 {
			return major == 2 && minor < 16
		}
	}
	return false
}

// tensorFlows are the packages that bring TensorFlow.
func tensorFlows() []string { return []string{"tensorflow", "tensorflow-cpu"} }

func (e Environment) minor() (major, minor int) {
	_, _ = fmt.Sscanf(e.Version, "%d.%d", &major, &minor) // what is no version is too old
	return major, minor
}
