package publish

import (
	"testing"
)

func TestAPipelineThatGoesOnCountsItsRunsInPlainWords(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]paused{
		"pipeline p is paused, no run waits":                                     {Pipeline: "p", Paused: true},
		"pipeline p is paused, 1 run waits":                                      {Pipeline: "p", Paused: true, Waiting: 1},
		"pipeline p is paused, 2 runs wait":                                      {Pipeline: "p", Paused: true, Waiting: 2},
		"pipeline p is resumed, no run was held":                                 {Pipeline: "p"},
		"pipeline p is resumed: 1 run that was held continues":                   {Pipeline: "p", Resumed: 1},
		"pipeline p is resumed: 1 run that was held continues, 2 runs wait":      {Pipeline: "p", Resumed: 1, Waiting: 2},
		"pipeline p is resumed: 3 runs that were held continue":                  {Pipeline: "p", Resumed: 3},
		"pipeline p is resumed: 1 run that was held waits until a slot is free":  {Pipeline: "p", Waiting: 1},
		"pipeline p is resumed: 2 runs that were held wait until a slot is free": {Pipeline: "p", Waiting: 2},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
