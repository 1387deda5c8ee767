package runner

import (
	"errors"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/runner/snapshot"
)

// callable says which of a module's files is meant, or why nobody can tell. names are those that the pipeline gives the functions
// that may be called: a dotted one says the file with the function.
func callable(files snapshot.Snapshot, names ...string) error {
	dotted := func(name string) bool { return strings.Contains(name, ".") }
	if err := files.Ambiguous(); err != nil && !slices.ContainsFunc(names, dotted) {
		return fail(KindInput, err)
	}
	return nil
}

// asTheirs tells of the module's files by the paths of the module, not by those of our copy.
func asTheirs(files snapshot.Snapshot, outcome Outcome, err error) (Outcome, error) {
	outcome.LogTail = files.Theirs(outcome.LogTail)
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.LogTail = files.Theirs(failed.LogTail)
	}
	return outcome, err
}
