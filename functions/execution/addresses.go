package execution

import (
	"cmp"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// AtAddresses makes a failure name inputs by their addresses: where this attempt had staged them, nothing is once it is told.
func (a *Attempt) AtAddresses(err error) error {
	failure, ok := errors.AsType[*events.Failure](err)
	if !ok {
		return err
	}
	addresses := a.addresses()
	failure.Err = inWords{addresses.Replace(failure.Err.Error()), failure.Err}
	failure.LogTail = addresses.Replace(failure.LogTail)
	return err
}

// addresses puts the address of each input in the place of the path where it is staged.
func (a *Attempt) addresses() *strings.Replacer {
	type staged struct{ path, address string }
	var all []staged
	for _, in := range a.Execution.Inputs {
		ref, dir := in.Listing.Ref, a.Desk.In(in.Dir)
		address := strings.TrimSuffix(ref.String(), "/")
		if files := in.Listing.Files; len(files) == 1 && files[0].Path == path.Base(ref.Key) {
			all = append(all, staged{filepath.Join(dir, files[0].Path), address}) // an object, which is staged in a folder
		}
		all = append(all, staged{dir, address})
	}
	// The replacer takes the first that fits: examples-10 is not examples-1 and a nought.
	slices.SortStableFunc(all, func(a, b staged) int { return cmp.Compare(len(b.path), len(a.path)) })
	pairs := make([]string, 0, 2*len(all))
	for _, in := range all {
		pairs = append(pairs, in.path, in.address)
	}
	return strings.NewReplacer(pairs...)
}

// inWords is an error told in other words.
type inWords struct {
	words string
	error
}

func (e inWords) Error() string { return e.words }
func (e inWords) Unwrap() error { return e.error }
