package module_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/functions/module"
)

func ExampleSuggestion() {
	splits := []string{"train", "eval"}
	fmt.Printf("no split %q%s\n", "trian", module.Suggestion("trian", splits))
	fmt.Printf("no split %q%s\n", "holdout", module.Suggestion("holdout", splits))
	// Output:
	// no split "trian"; did you mean train?
	// no split "holdout"
}
