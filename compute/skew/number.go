package skew

import (
	"encoding/json"
	"fmt"
	"math"
)

// number is one that JSON may have no word for.
type number float64

// UnmarshalJSON reads a number, or the text "NaN", "Infinity" or "-Infinity".
func (n *number) UnmarshalJSON(text []byte) error {
	var plain float64
	if json.Unmarshal(text, &plain) == nil {
		*n = number(plain)
		return nil
	}
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return fmt.Errorf("expected a number, got %.40s", text)
	}
	switch word {
	case "NaN":
		*n = number(math.NaN())
	case "Infinity":
		*n = number(math.Inf(1))
	case "-Infinity":
		*n = number(math.Inf(-1))
	default:
		return fmt.Errorf("expected a number, got %.40q", word)
	}
	return nil
}
