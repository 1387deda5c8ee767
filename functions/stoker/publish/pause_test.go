package publish

import (
	"testing"
)

func TestAPipelineThatGoesOnCountsItsRunsInPlainWords(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]paused{
		"pipeline p is paused, no run waits":                                  {Pipeline: "p", Paused: true},
		"pipeline p is paused, 1 run waits":                                   {Pipeline: "p", Paused: true, Waiting: 1},
		"pipeline p is paused, 2 runs wait":                                   {Pipeline: "p", Paused: true, Waiting: 2},
		"pipeline p goes on, no run was held":                                 {Pipeline: "p"},
		"pipeline p goes on: 1 run that was held goes on":                     {Pipeline: "p", WentOn: 1},
		"pipeline p goes on: 1 run that was held goes on, 2 runs wait":        {Pipeline: "p", WentOn: 1, Waiting: 2},
		"pipeline p goes on: 3 runs that were held go on":                     {Pipeline: "p", WentOn: 3},
		"pipeline p goes on: 1 run that was held waits until a slot is free":  {Pipeline: "p", Waiting: 1},
		"pipeline p goes on: 2 runs that were held wait until a slot is free": {Pipeline: "p", Waiting: 2},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
