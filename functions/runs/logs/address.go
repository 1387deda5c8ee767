package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/storage"
)

// Address returns where the store has the log of a run that has ended, or of its tuning; "" if that
// is not known. A failure names its log, and a model's log is next to its manifest.
func Address(ctx context.Context, bus events.EventLog, d query.Detail, tuning bool) (string, error) {
	switch {
	case tuning:
		return searchLog(ctx, d, bus)
	case d.Trained != nil && d.Over():
		return logOf(d.Trained.Model.URI), nil
	case d.Over():
		return d.Failed.Log, nil
	}
	return "", nil
}

// searchLog returns the log of the search that found the run's hyperparameters, or failed. The
// trials of a study have none.
func searchLog(ctx context.Context, d query.Detail, bus events.EventLog) (address string, err error) {
	// The kinds of events that end a search.
	query := events.Query{Pipeline: d.Pipeline, Run: d.Run, Kinds: []events.Kind{events.KindHParamsReady, events.KindTuningFailed}}
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return "", err
		}
		switch data := recorded.Event.Data.(type) {
		case *events.HParamsReady:
			address = logOf(data.Hyperparameters)
		case *events.TuningFailed:
			address = data.Log
		default: // the query selects no other kinds
		}
	}
	return address, nil
}

// logOf returns the log of the attempt that made an artifact, "" if Stoker did not make it.
func logOf(uri string) string {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return ""
	}
	place, ours := storage.PlaceOf(ref)
	if !ours {
		return ""
	}
	return place.Log().String()
}

func open(ctx context.Context, store storage.Store, address string) (io.ReadCloser, error) {
	ref, err := storage.ParseRef(address)
	if err != nil {
		return nil, err
	}
	body, _, err := store.Open(ctx, ref, "")
	if errors.Is(err, storage.ErrNotFound) {
		return nil, fmt.Errorf("%s: the log is no longer kept: %w", address, storage.ErrNotFound)
	}
	return body, err
}

// Attempt is an attempt that has left a log.
type Attempt struct {
	Number  int       `json:"number"`
	Attempt string    `json:"attempt"`
	Log     string    `json:"log"`
	Bytes   int64     `json:"bytes"`
	Ended   time.Time `json:"ended"`
}

// Attempts returns the attempts at an execution that have left a log, in the order in which they
// ended.
func Attempts(ctx context.Context, store storage.Store, log string) ([]Attempt, error) {
	const name = "/log.txt"
	ref, err := storage.ParseRef(log)
	if err != nil {
		return nil, err
	}
	of := strings.TrimSuffix(ref.Key, name)
	ref.Key = of[:strings.LastIndexByte(of, '/')+1]
	attempts := []Attempt{}
	for object, err := range store.List(ctx, ref) {
		if err != nil {
			return nil, err
		}
		below, ok := object.Ref.Below(ref)
		if attempt, isLog := strings.CutSuffix(below, name); ok && isLog && !strings.Contains(attempt, "/") {
			attempts = append(attempts, Attempt{Attempt: attempt, Log: object.Ref.String(), Bytes: object.Size, Ended: object.Modified})
		}
	}
	slices.SortStableFunc(attempts, func(x, y Attempt) int { return cmp.Or(x.Ended.Compare(y.Ended), cmp.Compare(x.Attempt, y.Attempt)) })
	for i := range attempts {
		attempts[i].Number = i + 1
	}
	return attempts, nil
}

// Copy prints a log that is in the store.
func Copy(ctx context.Context, store storage.Store, address string, out *Printer) error {
	body, err := open(ctx, store, address)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(out, body); err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	return out.Close()
}
