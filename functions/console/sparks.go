package console

import (
	"cmp"
	"context"
	"html/template"
	"slices"
	"sync"

	"github.com/stoker-ml/stoker/functions/console/chart"
)

// sparkBook has pictures of the loss of runs that have ended, of the size of a word. They are read
// from run logs, one after another and in the background: a list of runs shows each when it is
// ready.
type sparkBook struct {
	read    func(ctx context.Context, address string) logged
	came    func()
	book    *book[string, template.HTML]
	mu      sync.Mutex
	waiting []string // addresses to read, the most recently requested last
	more    chan struct{}
}

const (
	maxSparks  = 2000
	maxWaiting = 4 * runsPerPage // older requests are dropped
)

func newSparkBook(read func(context.Context, string) logged, came func()) *sparkBook {
	return &sparkBook{read: read, came: came, book: newBook[string, template.HTML](maxSparks), more: make(chan struct{}, 1)}
}

// of returns the picture of a run log; "" if it has not been read yet.
func (b *sparkBook) of(address string) template.HTML {
	if picture, there := b.book.look(address); there {
		return picture
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.waiting, address) {
		return ""
	}
	b.waiting = append(b.waiting, address)
	b.waiting = b.waiting[max(0, len(b.waiting)-maxWaiting):]
	select {
	case b.more <- struct{}{}:
	default:
	}
	return ""
}

// run reads requested logs until ctx ends. If one is unreadable, the next page requests it again.
func (b *sparkBook) run(ctx context.Context) {
	for {
		address, any := b.next()
		if !any {
			select {
			case <-ctx.Done():
				return
			case <-b.more:
			}
			continue
		}
		log := b.read(ctx, address)
		if ctx.Err() != nil {
			return
		}
		b.book.note(address, sparkOf(log.charts))
		b.came()
	}
}

func (b *sparkBook) next() (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return "", false
	}
	address := b.waiting[0]
	b.waiting = b.waiting[1:]
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
