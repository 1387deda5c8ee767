package execution

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// Whoever reads an event, a manifest or a reason is on another machine, and the folder of the attempt is gone by then. So whatever an
// attempt says passes through here: errors by CloseWith, or AtAddresses where they end sooner; stories by Publish; texts that are cut
// to a length by AtAddress first, since half a path can't be found again.

// CloseWith closes the attempt, and makes the error that it ends with name things as AtAddress does.
func (a *Attempt) CloseWith(err *error) {
	*err = a.AtAddresses(*err)
	a.Close()
}

// AtAddresses makes an error name things as AtAddress does, the end of a log in a failure too.
func (a *Attempt) AtAddresses(err error) error {
	if err == nil {
		return nil
	}
	names := a.names()
	failure, ok := errors.AsType[*events.Failure](err)
	if !ok {
		return inOtherWords(err, names)
	}
	failure.Err = inOtherWords(failure.Err, names)
	failure.LogTail = names.Replace(failure.LogTail)
	return err
}

// AtAddress is a text in which each path of the attempt's folder is what everybody knows: the address of an input or of the module, or the
// path that a file has within the artifact that is made of it: model/Format-Serving. The module's other files begin with working, answers or trials.
func (a *Attempt) AtAddress(text string) string { return a.names().Replace(text) }

// storyAtAddress is AtAddress for a story in JSON.
func (a *Attempt) storyAtAddress(story []byte) []byte {
	return []byte(a.replacer(func(text string) string {
		quoted, _ := json.Marshal(text) // a string is JSON
		return string(quoted[1 : len(quoted)-1])
	}).Replace(string(story)))
}

func (a *Attempt) names() *strings.Replacer {
	return a.replacer(func(text string) string { return text })
}

// replacer puts names in the place of paths, both as they are written in a text.
func (a *Attempt) replacer(written func(string) string) *strings.Replacer {
	type named struct{ path, name string }
	dir := a.Desk.Beside("")
	all := []named{
		{a.Desk.Out() + "/", ""}, {a.Desk.Out(), "the outputs"}, {dir + "/", ""}, {dir, "the folder of the attempt"},
	}
	if a.module.address != "" {
		all = append(all, named{a.module.source.Path, a.module.address})
	}
	for _, in := range slices.Concat(a.Execution.Inputs, a.also) {
		ref, dir := in.Listing.Ref, a.Desk.In(in.Dir)
		address := strings.TrimSuffix(ref.String(), "/")
		if files := in.Listing.Files; len(files) == 1 && files[0].Path == path.Base(ref.Key) {
			all = append(all, named{filepath.Join(dir, files[0].Path), address}) // an object, which is staged in a folder
		}
		all = append(all, named{dir, address})
	}
	// The replacer takes the first that fits: examples-10 is not examples-1 and a nought.
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(len(b.path), len(a.path)) })
	pairs := make([]string, 0, 2*len(all))
	for _, in := range all {
		pairs = append(pairs, written(in.path), written(in.name))
	}
	return strings.NewReplacer(pairs...)
}

// inOtherWords is err as it is told in other words; err itself if these are the same.
func inOtherWords(err error, names *strings.Replacer) error {
	words := names.Replace(err.Error())
	if words == err.Error() {
		return err
	}
	return inWords{words, err}
}

// inWords is an error told in other words.
type inWords struct {
	words string
	error
}

func (e inWords) Error() string { return e.words }
func (e inWords) Unwrap() error { return e.error }
