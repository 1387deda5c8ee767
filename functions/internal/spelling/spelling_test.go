package spelling_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

func ExampleSuggestion() {
	splits := []string{"train", "eval"}
	fmt.Printf("no split %q%s\n", "trian", spelling.Suggestion("trian", splits))
	fmt.Printf("no split %q%s\n", "holdout", spelling.Suggestion("holdout", splits))
	fmt.Printf("no direction %q%s\n", "mxa", spelling.Suggestion("mxa", []string{"min", "max"}))
	fmt.Printf("no direction %q%s\n", "up", spelling.Suggestion("up", []string{"min", "max"}))
	keys := []string{"hidden_units", "clip_norm", "clip_value"}
	fmt.Printf("no key %q%s\n", "units", spelling.Suggestion("units", keys))
	fmt.Printf("no key %q%s\n", "clip", spelling.Suggestion("clip", keys))
	// Output:
	// no split "trian"; did you mean train?
	// no split "holdout"
	// no direction "mxa"; did you mean max?
	// no direction "up"
	// no key "units"; did you mean hidden_units?
	// no key "clip"
}
