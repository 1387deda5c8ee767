package trainer_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// The directory in which a job's inputs were staged no longer exists when its failure is read.
func TestAFailureNamesInputsByTheirAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
		text := "base_model: find weights in " + filepath.Join(a.BaseModel, "penguin.keras") + ", examples in " + a.TrainFiles[0] +
			", graph in " + a.TransformGraphPath
		return runner.Outcome{}, &runner.Error{Kind: runner.KindInput, Err: errors.New(text), LogTail: "log: " + text}
	})
	b.put(t, "up/models/penguin.keras", "PK")
	for base, want := range map[string]string{
		"s3://stoker/up/models":               "s3://stoker/up/models/penguin.keras",
		"s3://stoker/up/models/":              "s3://stoker/up/models/penguin.keras",
		"s3://stoker/up/models/penguin.keras": "s3://stoker/up/models/penguin.keras",
	} {
		j := job(t, "j1", "monday", spec)
		j.Inputs.BaseModel = base
		_, err := b.handle(t, j, "a1")
		failure, ok := errors.AsType[*events.Failure](err)
		want := "base_model: find weights in " + want + ", examples in s3://stoker/up/tx/Split-train/*, graph in s3://stoker/up/graph"
		if !ok || failure.Kind != events.FailureInput || failure.Err.Error() != want || failure.LogTail != "log: "+want {
			t.Errorf("%s: failure %v, log %q, want %q", base, err, failure.LogTail, want)
		}
		if _, ok := errors.AsType[*runner.Error](err); !ok {
			t.Errorf("%s: the cause is lost: %v", base, err)
		}
	}
}

func TestABaseModelOfWhichOneCannotBeChosenIsNamedByItsAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	b.put(t, "up/models/export/taxi/1/saved_model.pb", "\x08\x01\x12\x09\x0a\x07\x22\x05serve")
	b.put(t, "up/models/export/taxi/2/saved_model.pb", "\x08\x02\x12\x09\x0a\x07\x22\x05serve")
	j := job(t, "j1", "monday", spec)
	j.Inputs.BaseModel = "s3://stoker/up/models"
	_, err := b.handle(t, j, "a1")
	if kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), "base_model: s3://stoker/up/models/export/taxi holds 2 entries") {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
}

func TestWhatIsNotThereIsSaidOnceWithWhatHelps(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	j := job(t, "j1", "monday", spec)
	j.Inputs.TransformGraph = "s3://stoker/up/nothing"
	_, err := b.handle(t, j, "a1")
	const want = "transform_graph: no object or folder exists at s3://stoker/up/nothing: upload it and retry, " +
		"or publish an event with the correct address under another run"
	if kindOf(err) != events.FailureInput || !strings.HasSuffix(err.Error(), want) || !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
	if strings.Count(err.Error(), "s3://") != 1 {
		t.Errorf("the address stands more than once: %v", err)
	}
}
