package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/cache"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// studyReader reads studies, and of each only what is new since the last read.
type studyReader struct {
	log    events.StudyLog
	mu     sync.Mutex // one reader at a time: the others find the result in the cache
	whole  *cache.Cache[events.Study, studies.State]
	digest *cache.Cache[events.Study, summary]

	drawing  sync.Mutex // one goroutine computes a study: the others find the result in the cache
	drawn    *cache.Cache[events.Study, drawnStudy]
	pictures *cache.Cache[string, string]
}

// drawnStudy is a study at an entry of its log, with what its pages and drawings share. The latter
// has no secrets.
type drawnStudy struct {
	studies.State
	*chart.Study
}

// How many studies are kept whole, and as one line.
const (
	maxStudies   = 8
	maxSummaries = 2000
	maxPictures  = 128 // of up to 120 KiB
)

// summary is a study's line in a list.
type summary struct {
	Name       events.Study
	After      uint64
	Grown      time.Time
	Algorithm  string
	Objectives []tune.Objective
	MaxTrials  int
	Counts     report.Counts
	Trials     int
	New        int // trials that begin from scratch and have ended: they count against MaxTrials
	Best       *float64
	BestTrial  string
	State      string // running, finished or failed
	Message    string
	Bad        string // why its log can't be read
	Requests   []string
}

func newStudyReader(log events.StudyLog) *studyReader {
	return &studyReader{
		log: log, whole: cache.New[events.Study, studies.State](maxStudies), digest: cache.New[events.Study, summary](maxSummaries),
		drawn: cache.New[events.Study, drawnStudy](maxStudies), pictures: cache.New[string, string](maxPictures),
	}
}

// read returns a study as it is now; events.ErrNotFound if it was not begun.
func (r *studyReader) read(ctx context.Context, name events.Study) (studies.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state, _ := r.whole.Get(name)
	state.Name = name
	state, err := studies.ReadOn(ctx, r.log, state)
	if err != nil {
		return state, err
	}
	if state.After == 0 {
		return state, events.ErrNotFound
	}
	r.whole.Put(name, state)
	return state, nil
}

// draw returns a study as it is now. What its drawings share is computed once for each version of
// it.
func (r *studyReader) draw(ctx context.Context, name events.Study) (drawnStudy, error) {
	state, err := r.read(ctx, name)
	if err != nil {
		return drawnStudy{}, err
	}
	r.drawing.Lock()
	defer r.drawing.Unlock()
	if d, there := r.drawn.Get(name); there && d.After == state.After && d.State.Study.Head() == state.Study.Head() {
		return d, nil
	}
	d := drawnStudy{state, chart.NewStudy(withoutSecrets(state.Study))}
	r.drawn.Put(name, d)
	return d, nil
}

// withoutSecrets returns a study whose trials have no secrets in the texts of their parameters. Two
// values that are secret may be equal then: drawings show them as one.
func withoutSecrets(s tune.Study) tune.Study {
	shown := map[space.Value]string{}
	s.Trials = slices.Clone(s.Trials)
	for i, t := range s.Trials {
		masked := *t
		masked.Values = slices.Clone(t.Values)
		for j, value := range masked.Values {
			text, isText := value.Of.(string)
			if !isText {
				continue
			}
			if _, known := shown[value]; !known {
				shown[value] = maskedValue(value.Name, text)
			}
			masked.Values[j].Of = shown[value]
		}
		s.Trials[i] = &masked
	}
	return s
}

// maskedValue returns the text of a parameter without secrets.
func maskedValue(name, text string) string {
	if mask.Name(name) {
		return mask.Hidden
	}
	return mask.Text(text)
}

// picture returns a drawing of a study, which is made once for each version of it.
func (r *studyReader) picture(d drawnStudy, kind string, make func() string) string {
	key := d.Name.Pipeline + " " + d.Name.ID + " " + d.version() + " " + kind
	if svg, there := r.pictures.Get(key); there {
		return svg
	}
	svg := make()
	r.pictures.Put(key, svg)
	return svg
}

// version identifies the study's state in addresses of pictures.
func (d drawnStudy) version() string {
	return fmt.Sprintf("%d-%.8s", d.After, d.State.Study.Head())
}

// list returns a line for each study, the most recently grown first. Logs that have not grown are
// not read again.
func (r *studyReader) list(ctx context.Context, pipeline string) ([]summary, error) {
	var list []summary
	for newest, err := range r.log.Studies(ctx, pipeline) {
		if err != nil {
			return nil, err
		}
		line, there := r.digest.Get(newest.Study)
		if !there || line.After != newest.Sequence {
			state, err := studies.Read(ctx, r.log, newest.Study)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			line = summarize(state, newest.Sequence, err)
			r.digest.Put(newest.Study, line)
		}
		line.Grown = newest.Stored
		list = append(list, line)
	}
	slices.Reverse(list)
	return list, nil
}

func summarize(state studies.State, after uint64, err error) summary {
	line := summary{Name: state.Name, After: after, State: studyState(&state.Study)}
	if err != nil {
		line.Bad = err.Error()
		return line
	}
	r := report.Of(&state.Study)
	line.Algorithm, line.Objectives, line.MaxTrials, line.Counts, line.Trials = r.Algorithm, r.Objectives, r.MaxTrials, r.Counts, len(r.Trials)
	line.Requests = state.Study.Requests
	if r.Finished != nil {
		line.Message = r.Finished.Why.InWords()
	}
	for _, row := range r.Trials {
		if row.Best && row.Score != nil && line.Best == nil {
			line.Best, line.BestTrial = row.Score, row.Trial
		}
		if row.Parent == "" && !row.Ended.IsZero() {
			line.New++
		}
	}
	return line
}

// The states of a study.
const (
	studyRunning = "running"
	studyDone    = "finished"
	studyFailed  = "failed"
)

func studyState(s *tune.Study) string {
	switch {
	case s.Finished == nil || len(s.Running()) > 0:
		return studyRunning
	case s.Finished.Why == tune.Failing:
		return studyFailed
	}
	return studyDone
}

// ofJob finds the study of a tune job among the listed ones.
func (r *studyReader) ofJob(ctx context.Context, pipeline, job string) (events.Study, bool) {
	if job == "" {
		return events.Study{}, false
	}
	name, err := studies.OfJob(ctx, r.log, pipeline, job)
	return name, err == nil || !errors.Is(err, events.ErrNotFound) && name.ID != ""
}

// at finds the study whose outcome is at an address.
func (r *studyReader) at(ctx context.Context, pipeline, address string) (events.Study, bool) {
	if address == "" {
		return events.Study{}, false
	}
	name, err := studies.At(ctx, r.log, pipeline, address)
	return name, err == nil
}
