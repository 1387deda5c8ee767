package console

import (
	"cmp"
	"context"
	"html/template"
	"slices"
	"sync"
)

// sparkBook has the loss of runs that have ended as pictures of the size of a word. They are read from run logs, one after another and
// behind the page's back: a list of runs waits for none, and shows each as it comes.
type sparkBook struct {
	read    func(ctx context.Context, address string) logged
	came    func()
	book    *book[string, template.HTML]
	mu      sync.Mutex
	waiting []string // addresses to read, the one asked for last at the end
	more    chan struct{}
}

const (
	maxSparks  = 2000
	maxWaiting = 4 * runsPerPage // who is looked at no more is not read
)

func newSparkBook(read func(context.Context, string) logged, came func()) *sparkBook {
	return &sparkBook{read: read, came: came, book: newBook[string, template.HTML](maxSparks), more: make(chan struct{}, 1)}
}

// of is the picture of a run log; "" for one that is not read yet, and will be.
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

// run reads what is asked for until ctx ends. What can't be read is asked for again by the next page.
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

// sparkOf draws the loss, which stands first.
func sparkOf(charts []chart) template.HTML {
	for _, c := range charts {
		if len(c.lines) > 0 && c.metric == "loss" {
			return spark(c.lines[0].points)
		}
	}
	return ""
}

// addSparks draws the curves of listed runs that have ended from their logs: what was followed of one may be its begin and its end.
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
