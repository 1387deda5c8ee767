package chaos

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// cutter counts the effects of this process, and ends or freezes it at one of them.
type cutter struct {
	cut  cut
	name string
	path string // of the file to which every cut is written before it is done
	log  *slog.Logger

	mu     sync.Mutex
	counts map[point]int
	// Between the module and the acknowledgement; checkpoints are saved at the same time.
	last point
}

func newCutter(p part, log *slog.Logger) *cutter {
	return &cutter{cut: p.Cut, name: fmt.Sprintf("%s life %d", p.Name, p.Life), path: p.Cuts, log: log, counts: map[point]int{}}
}

// around has the effect, or dies before or after it.
func (c *cutter) around(p point, do func() error) error {
	c.log.Debug("effect", "of", p)
	nth, nthAny := c.count(p), c.count(pointAny)
	c.at(p, false, nth)
	c.at(pointAny, false, nthAny)
	err := do()
	c.at(p, true, nth)
	c.at(pointAny, true, nthAny)
	c.mu.Lock()
	defer c.mu.Unlock()
	if p != pointCheckpoint && p != pointPointer && p != pointRemoval {
		c.last = p
	}
	return err
}

// proof is around for a proof of the lease, which is known by the effect that came before it.
func (c *cutter) proof(do func() error) error {
	c.mu.Lock()
	p := proofAfter(c.last)
	c.mu.Unlock()
	c.at(p, false, c.count(p))
	return do()
}

func (c *cutter) count(p point) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[p]++
	return c.counts[p]
}

// at ends or freezes the process if its time has come. No goroutine of the process begins another
// effect until the process has been killed or woken: on a busy machine, a signal to itself takes a
// while.
func (c *cutter) at(p point, after bool, nth int) {
	if c.cut.Point != p || c.cut.After != after || c.cut.Nth != nth {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note()
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(c.cut.Signal)
	}
	if err != nil {
		panic(fmt.Sprintf("%s can't be cut off: %v", c.name, err))
	}
	<-woken
}

// note records the cut. Lines of several processes don't mix: each is one short write at the end.
func (c *cutter) note() {
	file, err := os.OpenFile(c.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, "%s\t%s\t%t\n", c.name, c.cut.Point, c.cut.After)
}
