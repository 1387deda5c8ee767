package console

import (
	"html/template"
	"slices"
	"testing"
)

func TestComparedRunsOfSeveralPipelinesAreNamedAsInCommands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ asked, want []string }{
		{[]string{"penguin/monday", "whale/monday"}, []string{"penguin/monday", "whale/monday"}},
		{[]string{"penguin/monday", "penguin/a/b"}, []string{"monday", "a/b"}},
	} {
		if got := labelsOf(tc.asked); !slices.Equal(got, tc.want) {
			t.Errorf("%v are named %v, want %v", tc.asked, got, tc.want)
		}
	}
}

// The console may have followed only the beginning and the end of a run; the run log has all of it.
func TestARunThatHasEndedShowsTheCurveOfItsLog(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	const address = "s3://bkt/penguin/Trainer/model_run/1"
	w.logRun(address, 0.5)
	w.sparks.cache.Put(address, template.HTML("<svg>whole</svg>"))
	list := []runLine{{Spark: "<svg>followed</svg>", ModelRun: address}, {Spark: "<svg>followed</svg>"}}
	w.addSparks(list)
	if list[0].Spark != "<svg>whole</svg>" || list[1].Spark != "<svg>followed</svg>" {
		t.Errorf("drawn are %q and %q", list[0].Spark, list[1].Spark)
	}
}
