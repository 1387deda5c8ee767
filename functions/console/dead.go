package console

import (
	"context"
	"maps"
	"time"

	"github.com/stoker-ml/stoker/functions/replay"
)

// deadPause is how often dead letters are listed: they are not announced.
const deadPause = 10 * time.Second

// letters are all dead letters.
type deadLetters struct {
	count  int
	newest map[key]uint64 // number of a run's newest one
}

// followDead lists the dead letters repeatedly, until ctx ends.
func (c *Console) followDead(ctx context.Context) error {
	for {
		if err := c.readDead(ctx); err != nil {
			return err
		}
		c.model.cleared(partDead)
		if !sleep(ctx, deadPause) {
			return nil
		}
	}
}

// readDead lists them once.
func (c *Console) readDead(ctx context.Context) error {
	now := deadLetters{newest: map[key]uint64{}}
	for deadLetter, err := range c.opts.Bus.DeadLetters(ctx) {
		if err != nil {
			return err
		}
		now.count++
		if pipeline, run := replay.RunOf(deadLetter); run != "" {
			now.newest[key{pipeline, run}] = deadLetter.Sequence
		}
	}
	c.model.deadLetters(now)
	return nil
}

// buried takes the dead letters that there are now.
func (m *model) deadLetters(now deadLetters) {
	m.mu.RLock()
	same := m.dead.count == now.count && maps.Equal(m.dead.newest, now.newest)
	m.mu.RUnlock()
	if !same {
		m.change(func() { m.dead = now })
	}
}
