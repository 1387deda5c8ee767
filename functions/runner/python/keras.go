package python

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Kerases are the versions of Keras, 2 or 3, that tf.keras can be here. TensorFlow below 2.16
// brings Keras 2 and has no choice; from then on Keras 3 is its own, and Keras 2 the package
// tf_keras. Where nothing is known of either, any will do: nobody will ask for it.
func (e Environment) Kerases() []string {
	if e.hasOwnKeras2() || strings.HasPrefix(e.Packages["keras"], "2.") {
		return []string{"2"}
	}
	var there []string
	for _, has := range []struct{ keras, name string }{{"3", "keras"}, {"2", "tf-keras"}} {
		if _, ok := e.Packages[has.name]; ok {
			there = append(there, has.keras)
		}
	}
	if len(there) == 0 {
		return []string{"3", "2"}
	}
	return there
}

// kerasEnv is the value of TF_USE_LEGACY_KERAS for a version of Keras; "" where TensorFlow has no
// choice, and one confuses it.
func (e Environment) kerasEnv(keras string) string {
	if e.hasOwnKeras2() {
		return ""
	}
	return map[string]string{"2": "1", "3": "0"}[keras]
}

// KerasSigns reads the source of a module, files below dir and what they import from there, for
// what needs Keras 2 or 3, and gives the first sign of each. Nothing is imported for it.
func (e Environment) KerasSigns(ctx context.Context, layout Layout, dir string, files ...string) (map[string]string, error) {
	script := filepath.Join(layout.Driver, "stoker_runner", "keras_choice.py")
	var signs map[string]string
	if err := ask(ctx, e.by, &signs, e.Interpreter, append([]string{"-I", "-S", script, dir}, files...)...); err != nil {
		return nil, fmt.Errorf("read %s for the Keras that it needs: %w", dir, err)
	}
	return signs, nil
}
