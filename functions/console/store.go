package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/functions/console/cache"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/storage"
)

// curveReader reads the curves of runs that have ended from their run logs.
type curveReader struct {
	store storage.Store
	mu    sync.Mutex // one reader at a time
	cache *cache.Cache[string, logged]
}

// logged is the content of a run's log.
type logged struct {
	charts []chart.Chart
	epochs []chart.Chart // metrics by epoch, also those that charts has by step
	note   string        // what was left out, and why
}

// Limits of what is read for one page.
const (
	maxLogged   = 96       // run logs that are kept
	maxLogBytes = 48 << 20 // of a run's event files
	maxLogTags  = 60
)

func newCurveReader(store storage.Store) *curveReader {
	return &curveReader{store: store, cache: cache.New[string, logged](maxLogged)}
}

// read returns the metrics of the event files at an address, by step if they were logged by step,
// else by epoch.
func (r *curveReader) read(ctx context.Context, address string) logged {
	if found, there := r.cache.Get(address); there {
		return found
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, there := r.cache.Get(address); there {
		return found
	}
	found, err := r.load(ctx, address)
	if err != nil {
		// Not cached: the error may be transient.
		return logged{note: "The run's log can't be read: " + err.Error()}
	}
	r.cache.Put(address, found)
	return found
}

func (r *curveReader) load(ctx context.Context, address string) (logged, error) {
	folder, err := storage.ParseRef(address)
	if err != nil {
		return logged{}, err
	}
	files, size, err := eventFiles(ctx, r.store, folder)
	if err != nil {
		return logged{}, err
	}
	if size > maxLogBytes {
		return logged{note: fmt.Sprintf("The run's log has %s: too large for this page, but not for TensorBoard.", bytesText(size))}, nil
	}
	log := &tfevents.Log{}
	for _, file := range files {
		if err := r.readFile(ctx, log, folder, file); err != nil {
			return logged{}, err
		}
	}
	return chartsOf(log), nil
}

func eventFiles(ctx context.Context, store storage.Store, folder storage.Ref) (files []storage.Object, size int64, err error) {
	for object, err := range store.List(ctx, folder.Folder()) {
		if err != nil {
			return nil, 0, err
		}
		if tfevents.IsEventFile(path.Base(object.Ref.Key)) {
			files = append(files, object)
			size += object.Size
		}
	}
	return files, size, nil
}

func (r *curveReader) readFile(ctx context.Context, log *tfevents.Log, folder storage.Ref, file storage.Object) error {
	below, ok := file.Ref.Below(folder)
	if !ok {
		return nil
	}
	body, _, err := r.store.Open(ctx, file.Ref, file.ETag)
	if err != nil {
		return err
	}
	err = log.Read(path.Dir(below), tfevents.NewReader(below, body))
	return errors.Join(err, body.Close())
}

// chartsOf groups logged metrics by what they measure. Keras and our own training log the same
// names: batch_loss and epoch_loss in train, evaluation_loss_vs_iterations and epoch_loss in
// validation. A metric that is logged by step is not shown by epoch too.
func chartsOf(log *tfevents.Log) logged {
	var bySteps, byEpochs []chart.Chart
	for _, r := range log.Runs() {
		for _, s := range r.Series() {
			if s.Kind != tfevents.KindScalar || len(s.Points) == 0 {
				continue
			}
			line := chart.Series{Part: partOf(r.Name), Points: pointsOf(s)}
			if r.Name == "." && len(line.Points) == 1 {
				continue // the evaluation of the finished model, which validation also has
			}
			metric, epochs := metricOf(s.Tag)
			if epochs {
				byEpochs = chart.WithLine(byEpochs, metric, "epoch", line)
			} else {
				bySteps = chart.WithLine(bySteps, metric, "step", line)
			}
		}
	}
	for _, c := range byEpochs {
		if !covered(bySteps, c) {
			bySteps = append(bySteps, c)
		}
	}
	return logged{charts: curvesAmong(bySteps), epochs: curvesAmong(byEpochs)}
}

// curvesAmong leaves out charts of one point, which is a number, and all beyond maxLogTags.
func curvesAmong(list []chart.Chart) []chart.Chart {
	curves := slices.DeleteFunc(slices.Clone(list), func(c chart.Chart) bool { return len(c.Lines) == 1 && len(c.Lines[0].Points) == 1 })
	return chart.Ordered(curves[:min(len(curves), maxLogTags)])
}

// in returns the charts by the axis of a view.
func (l logged) in(v chart.View) []chart.Chart {
	if v.X != chart.ByEpoch {
		return l.charts
	}
	list := slices.Clone(l.epochs)
	for _, c := range l.charts {
		if !slices.ContainsFunc(l.epochs, func(other chart.Chart) bool { return other.Metric == c.Metric }) {
			list = append(list, c)
		}
	}
	return chart.Ordered(list)
}

func covered(bySteps []chart.Chart, c chart.Chart) bool {
	at := slices.IndexFunc(bySteps, func(other chart.Chart) bool { return other.Metric == c.Metric })
	return at >= 0 && !slices.ContainsFunc(c.Lines, func(line chart.Series) bool {
		return !slices.ContainsFunc(bySteps[at].Lines, func(other chart.Series) bool {
			return other.Part == line.Part && len(other.Points) > 1 || len(line.Points) < 2
		})
	})
}

func partOf(run string) string {
	switch run {
	case ".", "train":
		return "train"
	case "validation", "eval":
		return "validation"
	}
	return run
}

// metricOf splits a tag.
func metricOf(tag string) (metric string, epochs bool) {
	if metric, ok := strings.CutPrefix(tag, "epoch_"); ok {
		return metric, true
	}
	metric = strings.TrimPrefix(strings.TrimPrefix(tag, "batch_"), "evaluation_")
	return strings.TrimSuffix(metric, "_vs_iterations"), false
}

// pointsOf returns a series' points, at most chart.MaxPoints and the last one.
func pointsOf(s *tfevents.Series) []chart.Point {
	every := (len(s.Points) + chart.MaxPoints - 1) / chart.MaxPoints
	var points []chart.Point
	for i := 0; i < len(s.Points); i += every {
		points = append(points, pointOf(s.Points[i]))
	}
	if last := s.Last(); points[len(points)-1].Step != float64(last.Step) {
		points = append(points, pointOf(last))
	}
	return points
}

func pointOf(p tfevents.Point) chart.Point {
	return chart.Point{Step: float64(p.Step), Value: p.Scalar, Time: float64(p.Time.UnixMilli()) / 1000}
}

// maxTail is how much of a log's end is shown.
const maxTail = 32 << 10

// tail returns the end of a log in the store.
func (c *Console) tail(ctx context.Context, ref storage.Ref) (text string, whole bool, err error) {
	body, object, err := c.opts.Store.Open(ctx, ref, "")
	if err != nil {
		return "", false, err
	}
	defer body.Close()
	if skip := object.Size - maxTail; skip > 0 {
		if _, err := io.CopyN(io.Discard, body, skip); err != nil {
			return "", false, err
		}
	}
	read, err := io.ReadAll(io.LimitReader(body, maxTail))
	return string(read), object.Size <= maxTail, err
}

// ours returns an address in the store that the console may show: below its root.
func (c *Console) ours(address string) (storage.Ref, error) {
	ref, err := storage.ParseRef(address)
	if err != nil {
		return ref, err
	}
	if _, below := ref.Below(c.opts.Root); !below {
		return ref, fmt.Errorf("%s is not below %s, the root of this console", ref, c.opts.Root)
	}
	return ref, nil
}
