package tftest

import (
	"fmt"
	"strconv"
	"strings"
)

// Number is a float in a script's answer. JSON has no NaN and no infinities, so these come as text.
type Number float64

// UnmarshalJSON takes a JSON number, or a string that spells one: "nan", "-inf", "Infinity".
func (n *Number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil {
		return fmt.Errorf("number %s: %w", b, err)
	}
	*n = Number(v)
	return nil
}
