package report_test

import (
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// A seed is often a parameter: listing its possible values would take more memory than there is.
func TestAParameterOfAllIntegersIsNotListed(t *testing.T) {
	t.Parallel()
	config := tune.Config{
		Space:      space.Space{{Name: "seed", Kind: space.Int, Max: 1 << 53, Sampling: space.Linear}},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}, Algorithm: tune.Algorithm{Name: tune.Random},
	}
	s := tune.Study{}
	if err := s.Apply(tune.Entry{Begun: &tune.Begun{Config: config}, Stored: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	if err := report.TensorBoard(t.TempDir(), &s, 0); err != nil {
		t.Fatal(err)
	}
}
