package console

import (
	"cmp"
	"context"
	"html/template"
	"slices"
	"sync"

	"github.com/stoker-ml/stoker/functions/console/cache"
	"github.com/stoker-ml/stoker/functions/console/chart"
)

// sparkReader draws the loss of runs that have ended, in the size of a word. It reads run logs one
// after another in the background: a list of runs shows each picture when it is ready.
type sparkReader struct {
	read    func(ctx context.Context, address string) logged
	drawn   func() // called when a picture is ready
	cache   *cache.Cache[string, template.HTML]
	mu      sync.Mutex
	waiting []string // addresses to read, the most recently requested last
	more    chan struct{}
}

const (
	maxSparks  = 2000
	maxWaiting = 4 * runsPerPage // older requests are dropped
)

func newSparkReader(read func(context.Context, string) logged, drawn func()) *sparkReader {
	return &sparkReader{read: read, drawn: drawn, cache: cache.New[string, template.HTML](maxSparks), more: make(chan struct{}, 1)}
}

// of returns the picture of a run log; "" if it has not been read yet.
func (r *sparkReader) of(address string) template.HTML {
	if picture, there := r.cache.Get(address); there {
		return picture
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.waiting, address) {
		return ""
	}
	r.waiting = append(r.waiting, address)
	r.waiting = r.waiting[max(0, len(r.waiting)-maxWaiting):]
	select {
	case r.more <- struct{}{}:
	default:
	}
	return ""
}

// run reads requested logs until ctx ends. If one is unreadable, the next page requests it again.
func (r *sparkReader) run(ctx context.Context) {
	for {
		address, any := r.next()
		if !any {
			select {
			case <-ctx.Done():
				return
			case <-r.more:
			}
			continue
		}
		log := r.read(ctx, address)
		if ctx.Err() != nil {
			return
		}
		r.cache.Put(address, sparkOf(log.charts))
		r.drawn()
	}
}

func (r *sparkReader) next() (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		return "", false
	}
	address := r.waiting[0]
	r.waiting = r.waiting[1:]
	return address, true
}

// sparkOf draws the loss, which is the first chart.
func sparkOf(charts []chart.Chart) template.HTML {
	for _, c := range charts {
		if len(c.Lines) > 0 && c.Metric == "loss" {
			return chart.Spark(c.Lines[0].Points)
		}
	}
	return ""
}

// addSparks draws the curves of listed runs that have ended from their logs: the console may have
// followed only a part of them.
func (c *Console) addSparks(list []runLine) {
	for i := range list {
		if list[i].ModelRun == "" {
			continue
		}
		if ref, err := c.ours(list[i].ModelRun); err == nil {
			list[i].Spark = cmp.Or(c.sparks.of(ref.String()), list[i].Spark)
		}
	}
}
