package training

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

func TestProgressIsReportedAtMost20TimesASecond(t *testing.T) {
	t.Parallel()
	clock := time.Unix(0, 0)
	var reported []int
	p := progress{now: func() time.Time { return clock }, report: func(m module.Message) { reported = append(reported, m.Step) }}
	for step := 1; step <= 100; step++ {
		clock = clock.Add(time.Millisecond)
		p.send(train.Progress{Phase: train.Training, Step: step, Steps: 100})
	}
	p.send(train.Progress{Phase: train.Evaluating, Step: 1})
	if diff := cmp.Diff([]int{1, 51, 100, 1}, reported); diff != "" {
		t.Errorf("steps reported: want - got +\n%s", diff)
	}
}
