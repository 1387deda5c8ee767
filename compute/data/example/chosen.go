package example

import (
	"context"
	"fmt"
)

// chosen yields the records of a source for which only returns true.
type chosen struct {
	from   source
	only   func(record int64) bool
	number int64 // of the next record of the epoch
	kept   int64 // records of the epoch so far
}

// next implements source. An epoch of which no record is chosen is an error.
func (c *chosen) next(ctx context.Context, to []rec) (int, error) {
	for {
		n, err := c.from.next(ctx, to)
		if err == errEpochEnd && c.kept == 0 {
			return 0, inputError{fmt.Errorf("read examples: none of the %d records is to be read", c.number)}
		}
		if err == errEpochEnd {
			c.number, c.kept = 0, 0
		}
		if err != nil {
			return 0, err
		}
		chosen := 0
		for i := range n {
			if c.only(c.number) {
				to[chosen] = to[i]
				chosen++
			}
			c.number++
		}
		if c.kept += int64(chosen); chosen > 0 {
			return chosen, nil
		}
	}
}
