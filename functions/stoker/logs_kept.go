package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/find"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// keptLog is where the store has the log of a run that has ended, "" if nobody said so: a failure's fact names it, a model's lies beside its
// manifest.
func keptLog(ctx context.Context, d find.Detail, l link, tuning bool) (string, error) {
	switch {
	case tuning:
		return searchLog(ctx, d, l.box)
	case d.Trained != nil && d.Over():
		return logBeside(d.Trained.Model.URI), nil
	case d.Over():
		return d.Failed.Log, nil
	}
	return "", nil
}

// searchLog is that of the search that found the run's hyperparameters, or came to nothing. A study's trials have none of their own.
func searchLog(ctx context.Context, d find.Detail, box events.Letterbox) (address string, err error) {
	query := events.Query{Pipeline: d.Pipeline, Run: d.Run, Kinds: []events.Kind{events.KindHParamsReady, events.KindTuningFailed}}
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return "", err
		}
		switch data := recorded.Fact.Data.(type) {
		case *events.HParamsReady:
			address = logBeside(data.Hyperparameters)
		case *events.TuningFailed:
			address = data.Log
		}
	}
	return address, nil
}

// logBeside is the log of the attempt that made an artifact, "" if Stoker did not make it.
func logBeside(uri string) string {
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

func openLog(ctx context.Context, store storage.Store, address string) (io.ReadCloser, error) {
	ref, err := storage.ParseRef(address)
	if err != nil {
		return nil, err
	}
	body, _, err := store.Open(ctx, ref, "")
	if errors.Is(err, storage.ErrNotFound) {
		return nil, exit.NotFound(fmt.Errorf("%s: the log is no longer kept", address))
	}
	return body, err
}

// keptAttempt is an attempt that has left a log.
type keptAttempt struct {
	Number  int       `json:"number"`
	Attempt string    `json:"attempt"`
	Log     string    `json:"log"`
	Bytes   int64     `json:"bytes"`
	Ended   time.Time `json:"ended"`
}

// attemptLog prints the log of one attempt at the execution of which one log is known, or lists them.
func (a *app) attemptLog(ctx context.Context, l link, key find.Key, known, which string, out *logPrinter) error {
	if known == "" {
		return exit.NotFound(fmt.Errorf("run %s: which attempts there were is known once it has ended with a log", key.Run))
	}
	attempts, err := listAttempts(ctx, l.store, known)
	if err != nil {
		return err
	}
	if which == "list" {
		return a.print(attempts, func(w io.Writer) {
			terminal.Row(w, "NUMBER", "ATTEMPT", "ENDED", "BYTES")
			for _, one := range attempts {
				terminal.Row(w, one.Number, one.Attempt, one.Ended.Local().Format(time.DateTime), one.Bytes)
			}
		})
	}
	for _, one := range attempts {
		if strconv.Itoa(one.Number) == which || one.Attempt == which {
			return copyLog(ctx, l, one.Log, out)
		}
	}
	return exit.NotFound(fmt.Errorf("run %s: no attempt %s has left a log; --attempt list shows those that have", key.Run, which))
}

// listAttempts are the attempts at an execution that have left a log, in the order in which they ended.
func listAttempts(ctx context.Context, store storage.Store, log string) ([]keptAttempt, error) {
	const name = "/log.txt"
	ref, err := storage.ParseRef(log)
	if err != nil {
		return nil, err
	}
	of := strings.TrimSuffix(ref.Key, name)
	ref.Key = of[:strings.LastIndexByte(of, '/')+1]
	attempts := []keptAttempt{}
	for object, err := range store.List(ctx, ref) {
		if err != nil {
			return nil, err
		}
		below, ok := object.Ref.Below(ref)
		if attempt, isLog := strings.CutSuffix(below, name); ok && isLog && !strings.Contains(attempt, "/") {
			attempts = append(attempts, keptAttempt{Attempt: attempt, Log: object.Ref.String(), Bytes: object.Size, Ended: object.Modified})
		}
	}
	slices.SortStableFunc(attempts, func(x, y keptAttempt) int { return cmp.Or(x.Ended.Compare(y.Ended), cmp.Compare(x.Attempt, y.Attempt)) })
	for i := range attempts {
		attempts[i].Number = i + 1
	}
	return attempts, nil
}
