package train_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/train"
)

// anyFolds returns random folds of which none is empty.
func anyFolds(random *rand.Rand, forward bool) train.Folds {
	count := 2 + random.IntN(19)
	return train.Folds{Count: count, Forward: forward, Seed: random.Int64(), Rows: int64(count + 1 + random.IntN(300))}
}

func rowsOf(f train.Folds, in func(int64) bool) (rows []int64) {
	for row := range f.Rows {
		if in(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

func TestEachRowIsJudgedOnceAndTrainsAllOtherFolds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		f := anyFolds(random, false)
		var judged []int64
		least, most := f.Rows, int64(0)
		for fold := range f.Count {
			rows, trains := rowsOf(f, f.Judges(fold)), f.Trains(fold)
			judged = append(judged, rows...)
			least, most = min(least, int64(len(rows))), max(most, int64(len(rows)))
			for row := range f.Rows {
				if trains(row) == slices.Contains(rows, row) {
					t.Fatalf("%+v: fold %d: row %d is trained on: %t", f, fold, row, trains(row))
				}
			}
		}
		slices.Sort(judged)
		if all := rowsOf(f, func(int64) bool { return true }); !slices.Equal(judged, all) || most-least > 1 {
			t.Errorf("%+v: folds have %d to %d rows, all together are %v", f, least, most, judged)
		}
	}
}

// Parts follow each other: no model is judged by a row before one that it was trained on.
func TestForwardFoldsTrainOnEarlierRowsAlone(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		f := anyFolds(random, true)
		next, least, most := int64(-1), f.Rows, int64(0)
		for fold := range f.Count {
			trained, judged := rowsOf(f, f.Trains(fold)), rowsOf(f, f.Judges(fold))
			if fold == 0 {
				next = int64(len(trained))
				least, most = next, next
			}
			least, most = min(least, int64(len(judged))), max(most, int64(len(judged)))
			if trained[0] != 0 || trained[len(trained)-1] != next-1 || judged[0] != next || int64(len(trained)) != next {
				t.Fatalf("%+v: fold %d is trained on %v and judged on %v", f, fold, trained, judged)
			}
			next += int64(len(judged))
		}
		if next != f.Rows || most-least > 1 {
			t.Errorf("%+v: %d rows are used, parts have %d to %d", f, next, least, most)
		}
	}
}

// Which fold a row is in depends on the seed and its number, not on how many rows there are or on
// the rows that were asked for before.
func TestFoldsDependOnSeedAndRowAlone(t *testing.T) {
	t.Parallel()
	f := train.Folds{Count: 5, Seed: 7, Rows: 100}
	longer := train.Folds{Count: 5, Seed: 7, Rows: 1000}
	other := train.Folds{Count: 5, Seed: 8, Rows: 100}
	if fold, again := rowsOf(f, f.Judges(3)), rowsOf(f, longer.Judges(3)); !slices.Equal(fold, again) || slices.Equal(fold, rowsOf(f, other.Judges(3))) {
		t.Errorf("fold 3 is %v, of more rows %v, of another seed %v", fold, again, rowsOf(f, other.Judges(3)))
	}
	backward, in := []int64(nil), f.Judges(3)
	for row := f.Rows - 1; row >= 0; row-- {
		if in(row) {
			backward = append(backward, row)
		}
	}
	slices.Reverse(backward)
	if fold := rowsOf(f, f.Judges(3)); !slices.Equal(fold, backward) {
		t.Errorf("fold 3 is %v, asked for backward %v", fold, backward)
	}
	// Every kind of sorted or periodic data is divided: fold 3 has rows of all remainders.
	remainders := map[int64]int{}
	for _, row := range rowsOf(longer, longer.Judges(3)) {
		remainders[row%5]++
	}
	for remainder := range int64(5) {
		if remainders[remainder] < 20 {
			t.Errorf("fold 3 of 1000 rows has %v rows by remainder of 5", remainders)
			break
		}
	}
}

func TestFoldsNeedARowInEachPart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		folds train.Folds
		want  string
	}{
		{train.Folds{Count: 5, Rows: 5}, ""},
		{train.Folds{Count: 5, Rows: 4}, "5 folds need at least 5 rows, and there are 4"},
		{train.Folds{Count: 5, Rows: 6, Forward: true}, ""},
		{train.Folds{Count: 5, Rows: 5, Forward: true}, "5 folds need at least 6 rows, and there are 5"},
	} {
		if err := test.folds.Check(); (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
			t.Errorf("%+v: %v, want %q", test.folds, err, test.want)
		}
	}
}
