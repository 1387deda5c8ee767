package tfevents

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// Log is the content of event files: the runs of a log directory by name.
type Log struct {
	runs map[string]*Run
}

// Run is the content of the event files of one directory.
type Run struct {
	// Path of the directory below the log directory, slash-separated; "." is the log directory
	// itself.
	Name  string
	Files int
	Cut   bool // the last file ends within an event: it is still being written, or its writer died

	Experiment *Experiment
	Session    *Session
	End        *SessionEnd

	series map[string]*Series
	begun  bool
}

// Load reads all event files below a directory, or a single one. Log.Read has the rules.
func Load(dir string) (*Log, error) {
	l := &Log{}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("load run log: %w", err)
	}
	if !info.IsDir() {
		return l, l.load(".", dir)
	}
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !IsEventFile(name) {
			return err
		}
		run, err := filepath.Rel(dir, filepath.Dir(name))
		if err != nil {
			return err
		}
		return l.load(filepath.ToSlash(run), name)
	})
	if err != nil {
		return nil, fmt.Errorf("load run log: %w", err)
	}
	return l, nil
}

func (l *Log) load(run, name string) error {
	r, err := OpenFile(name)
	if err != nil {
		return err
	}
	return errors.Join(l.Read(run, r), r.Close())
}

// Read adds the events of a file to a run. The files of a run must be added in the order of their
// names.
//
// As in TensorBoard, the beginning of a session voids the events of the run's earlier files from
// its step on, except for the run's first session; of hyperparameters the first that a run has
// count. A truncated file counts up to its end.
func (l *Log) Read(run string, r *Reader) error {
	to := l.run(run)
	to.Files++
	for {
		event, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if errors.Is(err, tfrecord.ErrTruncated) {
			to.Cut = true
			return nil
		}
		if err == nil {
			err = to.add(event)
		}
		if err != nil {
			return err
		}
	}
}

func (l *Log) run(name string) *Run {
	name = path.Clean(name)
	if l.runs == nil {
		l.runs = map[string]*Run{}
	}
	if l.runs[name] == nil {
		l.runs[name] = &Run{Name: name, series: map[string]*Series{}}
	}
	return l.runs[name]
}

// Run returns the run of that name, or nil.
func (l *Log) Run(name string) *Run { return l.runs[name] }

// Runs returns all runs, by name.
func (l *Log) Runs() []*Run {
	var runs []*Run
	for _, r := range l.runs {
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b *Run) int { return strings.Compare(a.Name, b.Name) })
	return runs
}

// Series returns what was logged, by tag.
func (r *Run) Series() []*Series {
	var all []*Series
	for _, s := range r.series {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Series) int { return cmp.Compare(a.Tag, b.Tag) })
	return all
}

// Tag returns the series of that tag, or nil.
func (r *Run) Tag(tag string) *Series { return r.series[tag] }

// maxTags is how many tags a run may have, because each takes memory.
const maxTags = 100_000

func (r *Run) add(e Event) error {
	if e.Begins && r.begun {
		r.void(e.Step)
	}
	r.begun = r.begun || e.Begins
	for _, v := range e.Values {
		if v.HParams != nil {
			r.keep(*v.HParams)
			continue
		}
		s := r.series[v.Tag]
		if s == nil && len(r.series) >= maxTags {
			return fmt.Errorf("run %s: more than %d tags", r.Name, maxTags)
		}
		if s == nil {
			s = &Series{Tag: v.Tag, Kind: v.Kind, Plugin: v.Plugin}
			r.series[v.Tag] = s
		}
		s.add(Point{Step: e.Step, Time: e.Time, Value: v})
	}
	return nil
}

func (r *Run) void(from int64) {
	for tag, s := range r.series {
		if s.void(from); len(s.Points) == 0 {
			delete(r.series, tag)
		}
	}
}

func (r *Run) keep(h HParams) {
	r.Experiment = cmp.Or(r.Experiment, h.Experiment)
	r.Session = cmp.Or(r.Session, h.Session)
	r.End = cmp.Or(r.End, h.End)
}
