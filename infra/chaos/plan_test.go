package chaos

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"syscall"
	"testing"
)

// point is an effect, or a moment, at which a process can be cut off.
type point string

// The effects of DESIGN 4, in their order, and those of a dispatcher in DESIGN 3.
const (
	pointTrain    point = "step of training"
	pointBlob     point = "blob"
	pointManifest point = "manifest"
	pointCommit   point = "commit"
	pointEvent    point = "event"
	pointDone     point = "acknowledgement"

	pointCheckpoint point = "file of a checkpoint"
	pointPointer    point = "pointer to a checkpoint"
	pointRemoval    point = "removal" // of what is no longer needed

	pointJoin   point = "join"
	pointOffer  point = "offer"
	pointSettle point = "acknowledgement of an event"

	pointAny point = "effect" // any of them
)

// proofAfter returns the proof of the lease that follows an effect.
func proofAfter(p point) point { return "proof of the lease after " + p }

// cut is where a life of a process ends, or is frozen. The zero value is nowhere.
type cut struct {
	Point  point          `json:"point"`
	After  bool           `json:"after"` // else right before
	Nth    int            `json:"nth"`   // from 1
	Signal syscall.Signal `json:"signal"`
}

func (c cut) String() string {
	side := "before"
	if c.After {
		side = "after"
	}
	return fmt.Sprintf("%s %s %d", side, c.Point, c.Nth)
}

// plan is everything that goes wrong.
type plan struct {
	seed uint64
	jobs int
	kind bool // the store fails only as planned
}

// The streams of randomness, so that more of one thing leaves the others as they are.
const (
	streamWorkers uint64 = iota
	streamDispatchers
	streamBus
	streamUpstream
	streamConnections // and above, one for each connection
)

// Those of operations on three servers.
const (
	streamFaults     uint64 = 1<<62 + iota
	streamOperations        // and above, one for each operation
)

func (p plan) rand(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(p.seed, stream)) }

// workerCuts returns the ends of the first lives of workers, in the order in which these lives
// begin. Each point comes once, or several times in a large chaos; between two deaths there is time
// for a few jobs.
func (p plan) workerCuts() []cut {
	points := []point{pointBlob, pointManifest, pointCommit, pointEvent, pointDone, pointCheckpoint, pointPointer, pointRemoval}
	return p.cuts(streamWorkers, points, []cut{{Point: pointTrain}, {Point: pointAny}, {Point: pointAny, After: true}})
}

// dispatcherCuts returns the same for dispatchers.
func (p plan) dispatcherCuts() []cut {
	return p.cuts(streamDispatchers, []point{pointJoin, pointOffer, pointSettle}, []cut{{Point: pointAny}})
}

// cuts has both sides of every point, and more, shuffled, in rounds.
func (p plan) cuts(stream uint64, points []point, more []cut) (all []cut) {
	r := p.rand(stream)
	for _, at := range points {
		more = append(more, cut{Point: at}, cut{Point: at, After: true})
	}
	rounds := max(1, p.jobs/60)
	most := max(1, p.jobs/(rounds*len(more))) // jobs for each death
	for range rounds {
		for _, i := range r.Perm(len(more)) {
			c := more[i]
			c.Nth, c.Signal = 1+r.IntN(most), syscall.SIGKILL
			if c.Point == pointAny {
				c.Nth = 1 + r.IntN(10*most)
			}
			all = append(all, c)
		}
	}
	return all
}

// busStop is one end of the NATS server.
type busStop struct {
	models int // published before
	signal syscall.Signal
}

// busStops end the server by turns politely and not.
func (p plan) busStops() (stops []busStop) {
	r := p.rand(streamBus)
	count := 2 + p.jobs/60
	for i := range count {
		stops = append(stops, busStop{
			models: (i*p.jobs + r.IntN(p.jobs)) / count,
			signal: []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[i%2],
		})
	}
	return stops
}

func TestTheSameSeedMakesTheSamePlan(t *testing.T) {
	t.Parallel()
	one, same, other := plan{seed: 7, jobs: 300}, plan{seed: 7, jobs: 300}, plan{seed: 8, jobs: 300}
	for name, of := range map[string]func(plan) any{
		"workers":     func(p plan) any { return p.workerCuts() },
		"dispatchers": func(p plan) any { return p.dispatcherCuts() },
		"bus":         func(p plan) any { return p.busStops() },
		"connections": func(p plan) any { return p.rand(streamConnections + 3).Uint64() },
	} {
		if !reflect.DeepEqual(of(one), of(same)) {
			t.Errorf("%s: one seed, two plans", name)
		}
		if reflect.DeepEqual(of(one), of(other)) {
			t.Errorf("%s: two seeds, one plan", name)
		}
	}
}
