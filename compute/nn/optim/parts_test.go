package optim_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// parts gives hidden/ to the first, out/ to the second.
func parts(t *testing.T, names ...string) *optim.Parts {
	t.Helper()
	hidden, rest := optim.Part{Prefix: "hidden/", Optimizer: named(t, names[0])}, optim.Part{Optimizer: named(t, names[1])}
	o, err := optim.NewParts(twoLayers, hidden, rest)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEachPartIsTrainedByItsOwnOptimizer(t *testing.T) {
	t.Parallel()
	const hidden = 8 + 4
	got := steps(parts(t, "adagrad", "ftrl"), begin(), 10)

	want, first, second := begin(), named(t, "adagrad"), named(t, "ftrl")
	for range 10 {
		grads := slopes(want)
		first.Step(want[:hidden], grads[:hidden])
		second.Step(want[hidden:], grads[hidden:])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Parts with more slots than others, and with none, come back as they were.
func TestPartsGoOnFromTheirState(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"adagrad", "ftrl"}, {"ftrl", "sgd"}, {"momentum", "adam"}, {"sgd", "sgd"}} {
		goesOn(t, func() optim.Optimizer { return parts(t, names...) })
	}
}

func TestPartsSayWhichParamIsNobodys(t *testing.T) {
	t.Parallel()
	sgd := named(t, "sgd")
	for want, parts := range map[string][]optim.Part{
		`param "out/kernel" belongs to no part`: {{"hidden/", sgd}},
		`no param is left for the part "hidden/"`: {
			{"", sgd}, {"hidden/kernel", sgd}, {"hidden/bias", sgd}, {"hidden/", sgd},
		},
		`no param is left for the part "deep/"`:                                      {{"", sgd}, {"deep/", sgd}},
		`part "": optimizer "parts(: sgd)" is none that optim.New knows`:             {{"", whole(t, "sgd")}},
		`state is of optimizer "sgd", expected "parts(: sgd)"`:                       nil,
		`state of optimizer "parts(: momentum)" has a slot of 2 values, expected 27`: nil,
	} {
		_, err := optim.NewParts(twoLayers, parts...)
		switch {
		case strings.HasPrefix(want, "state is"):
			err = whole(t, "sgd").Restore(optim.State{Name: "sgd"})
		case strings.HasPrefix(want, "state of"):
			o := whole(t, "momentum")
			err = o.Restore(optim.State{Name: o.Name(), Slots: [][]float32{{1, 2}}})
		}
		if err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

// whole is one part for all.
func whole(t *testing.T, name string) *optim.Parts {
	t.Helper()
	o, err := optim.NewParts(twoLayers, optim.Part{Optimizer: named(t, name)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}
