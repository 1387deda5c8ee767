package dispatch

import (
	"errors"
	"maps"
	"slices"
)

// troubles are the errors of the runs at a gate, by run.
type troubles map[string]error

func (t troubles) Error() string { return errors.Join(t.Unwrap()...).Error() }

// Unwrap returns them in the order of the runs' names.
func (t troubles) Unwrap() (errs []error) {
	for _, run := range slices.Sorted(maps.Keys(t)) {
		errs = append(errs, t[run])
	}
	return errs
}

func (t troubles) err() error {
	if len(t) == 0 {
		return nil
	}
	return t
}

// only is what of an error that pass returns is about one run. The others' trouble is not its: a fact that was delivered again for that
// would not help them, and sweeps do.
func (d *Dispatcher) only(run string, err error) error {
	trouble, ok := errors.AsType[troubles](err)
	if !ok {
		return err
	}
	for other, err := range trouble {
		if other != run {
			d.log.Warn("run is held up; the next sweep tries again", "run", other, "error", err)
		}
	}
	return trouble[run]
}
