package train

import (
	"fmt"
	"math/rand/v2"
)

// Folds divide the rows of a data set for cross-validation. Each fold has rows to train on and rows
// to judge the trained model by. Which rows these are depends only on this value and on a row's
// number in the files in their order, from 0: it is the same in every process, and for files that
// are divided differently.
//
// Without Forward, each run of Count consecutive rows has one row in each fold, in an order that
// Seed and the run's number determine. A fold's model is trained on the rows of all other folds.
// The sizes of folds differ by one row at most. Neither sorted rows nor rows that repeat in a
// period of Count are divided unevenly, which they would be by the row's number alone; and a hash
// of the row would give folds of different sizes.
//
// With Forward, the rows are Count+1 consecutive parts, whose sizes differ by one row at most. The
// model of fold i, from 0, is trained on the parts 0 to i, and judged on part i+1: never on a row
// before one that it was trained on. Seed has no effect.
type Folds struct {
	Count   int
	Forward bool
	Seed    int64
	Rows    int64 // of the data set
}

// Check returns an error if a part would have no row.
func (f Folds) Check() error {
	least := int64(f.Count)
	if f.Forward {
		least++
	}
	if f.Rows < least {
		return fmt.Errorf("%d folds need at least %d rows, and there are %d", f.Count, least, f.Rows)
	}
	return nil
}

// Trains returns which rows the model of a fold is trained on. The function is for one goroutine.
func (f Folds) Trains(fold int) func(row int64) bool {
	if f.Forward {
		end := f.start(fold + 1)
		return func(row int64) bool { return row < end }
	}
	of := f.shuffled()
	return func(row int64) bool { return of(row) != fold }
}

// Judges returns which rows the model of a fold is judged by. The function is for one goroutine.
func (f Folds) Judges(fold int) func(row int64) bool {
	if f.Forward {
		start, end := f.start(fold+1), f.start(fold+2)
		return func(row int64) bool { return start <= row && row < end }
	}
	of := f.shuffled()
	return func(row int64) bool { return of(row) == fold }
}

// start returns the first row of a part.
func (f Folds) start(part int) int64 { return f.Rows * int64(part) / int64(f.Count+1) }

// shuffled returns a function that returns the fold of a row. It keeps the order of one run of
// rows.
func (f Folds) shuffled() func(row int64) int {
	count := int64(f.Count)
	run, order := int64(-1), []int(nil)
	return func(row int64) int {
		if row/count != run {
			run = row / count
			order = rand.New(rand.NewPCG(uint64(f.Seed), uint64(run))).Perm(f.Count)
		}
		return order[row%count]
	}
}
