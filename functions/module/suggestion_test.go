package module_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/functions/module"
)

func ExampleSuggestion() {
	splits := []string{"train", "eval"}
	fmt.Printf("no split %q%s\n", "trian", module.Suggestion("trian", splits))
	fmt.Printf("no split %q%s\n", "holdout", module.Suggestion("holdout", splits))
	fmt.Printf("no direction %q%s\n", "mxa", module.Suggestion("mxa", []string{"min", "max"}))
	fmt.Printf("no direction %q%s\n", "up", module.Suggestion("up", []string{"min", "max"}))
	// Output:
	// no split "trian"; did you mean train?
	// no split "holdout"
	// no direction "mxa"; did you mean max?
	// no direction "up"
}
