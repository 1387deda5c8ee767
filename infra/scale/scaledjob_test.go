package scale_test

import (
	"testing"

	"github.com/stoker-ml/stoker/infra/scale"
)

func TestStartsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ perJob, max, lag, running, want int64 }{
		{1, 4, 0, 0, 0},
		{1, 4, 1, 0, 1},
		{1, 4, 6, 0, 4},  // no more than the quota
		{1, 4, 6, 4, 0},  // which is used up
		{1, 4, 6, 3, 1},  // one has left
		{1, 4, 2, 2, 0},  // those that run have these jobs
		{1, 4, 0, 2, 0},  // about to leave; nobody is stopped
		{10, 4, 1, 0, 1}, // any job at all
		{10, 4, 11, 1, 1},
	} {
		if got := (scale.ScaledJob{PerJob: c.perJob, Max: c.max}).Start(c.lag, c.running); got != c.want {
			t.Errorf("%d a job, %d at most: lag %d with %d running starts %d, want %d", c.perJob, c.max, c.lag, c.running, got, c.want)
		}
	}
}

func TestStandingWorkersTakeJobsFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ standing, max, lag, running, want int64 }{
		{2, 6, 0, 0, 0},
		{2, 6, 2, 0, 0}, // they have both
		{2, 6, 3, 0, 1},
		{2, 6, 3, 1, 0},
		{2, 6, 20, 0, 4}, // six in all
		{2, 6, 20, 4, 0},
		{2, 6, 1, 3, 0}, // about to leave
		{2, 2, 20, 0, 0},
		{0, 6, 2, 0, 2}, // from zero
	} {
		if got := (scale.ScaledJob{PerJob: 1, Max: c.max, Standing: c.standing}).Start(c.lag, c.running); got != c.want {
			t.Errorf("%d stay, %d at most: lag %d with %d running starts %d, want %d", c.standing, c.max, c.lag, c.running, got, c.want)
		}
	}
}
