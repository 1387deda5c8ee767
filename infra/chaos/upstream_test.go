package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/local/demo"
)

// run is one run that upstream publishes, and its expected result.
type run struct {
	pipeline string
	key      string
	events   []events.Event
	work     string // runs of one pipeline with the same work are one execution
	inputs   string // runs with equal inputs have equal models
	seed     uint64 // of tiny's weights; 0 for another module
}

func (r run) tuned() bool { return r.pipeline == "tuned" }

func (r run) String() string { return r.pipeline + "/" + r.key }

// upstream has the runs and publishes their events.
type upstream struct {
	w    *world
	runs []run
	rand *rand.Rand
}

const tinyPipeline = `
pipeline: tiny
module: builtin:tiny
trainer:
  wait_for: [transform, hparams]
  hyperparameters: run
`

// narrowPipeline lets two runs train at a time; the others wait for their turn.
const narrowPipeline = `
pipeline: narrow
module: builtin:tiny
trainer:
  wait_for: [transform, hparams]
  hyperparameters: run
concurrency: {runs: 2, newest: queue}
`

// tunedPipeline searches for the hyperparameters that the others get.
const tunedPipeline = `
pipeline: tuned
module: ./tiny.py
tuner: {when: always, on_failed: fail}
`

const hyperparameters = `{"space": [], "values": {"units": 8}}`

// newUpstream applies the pipelines and uploads what the runs read. One run in twelve trains a real
// model.
func newUpstream(w *world, jobs int) *upstream {
	u := &upstream{w: w, rand: w.plan.rand(streamUpstream)}
	w.apply(tinyPipeline)
	w.apply(narrowPipeline)
	w.apply(tunedPipeline)
	w.put("tiny/graph/transform_fn/saved_model.pb", "\x08\x01\x12\x09\x0a\x07\x22\x05serve")
	w.put("tiny/hp/best_hyperparameters.txt", hyperparameters)
	real := jobs / 12
	u.penguins(real)
	u.tinies(jobs - real)
	u.rand.Shuffle(len(u.runs), func(i, j int) { u.runs[i], u.runs[j] = u.runs[j], u.runs[i] })
	return u
}

// tinies are count runs of which every third has the inputs of another. Every sixth waits in a
// queue, every sixth is tuned, and every tenth requests its own training although another one has
// the same inputs.
func (u *upstream) tinies(count int) {
	groups := (2*count + 2) / 3
	for i := range count {
		group := i % groups
		folder := fmt.Sprintf("tiny/examples-%d", group)
		train, eval := fmt.Sprintf("rows %d of seed %d", group, u.w.plan.seed), "eval rows"
		if i < groups {
			u.w.put(folder+"/Split-train/data", train)
			u.w.put(folder+"/Split-eval/data", eval)
		}
		r := run{
			pipeline: "tiny", key: fmt.Sprintf("run %d", i), work: folder, inputs: folder,
			seed: tinySeed([]byte(`{"units":8}`), []byte(train), []byte(eval)),
		}
		switch i % 6 {
		case 2:
			r.pipeline = "tuned"
		case 5:
			r.pipeline = "narrow"
		}
		if i%10 == 9 {
			r.work = "another training for " + r.key
		}
		r.events = u.tiny(r)
		u.runs = append(u.runs, r)
	}
}

// tiny returns the events that lead to a run on the examples in a folder.
func (u *upstream) tiny(r run) []events.Event {
	at := func(path string) string { return u.w.root.Join(path).String() }
	event := func(id string, data events.Data) events.Event {
		return events.Event{ID: id, Source: "/upstream", Pipeline: r.pipeline, Run: r.key, Data: data}
	}
	evs := []events.Event{
		event("transform-"+events.Escape(r.key), &events.TransformReady{
			TransformGraph: at("tiny/graph"), TransformedExamples: []events.Examples{{URI: at(r.inputs)}},
			Request: events.Request{Force: r.work != r.inputs},
		}),
		event("hparams-"+events.Escape(r.key), &events.HParamsReady{Hyperparameters: at("tiny/hp")}),
	}
	if r.tuned() {
		return evs[:1]
	}
	return evs
}

const penguinPipelines = 4

// penguins are count runs of builtin:dnn, in pipelines that differ only in their names: their
// models must be equal.
func (u *upstream) penguins(count int) {
	root := u.w.root.Join("penguin-data")
	u.w.must(demo.Upload(u.w.t.Context(), u.w.store, root))
	_, text := demo.PipelineFile()
	for i := range count {
		name := fmt.Sprintf("penguin-%d", i%penguinPipelines)
		if i < penguinPipelines {
			u.w.apply(strings.Replace(string(text), "pipeline: penguin", "pipeline: "+name, 1))
		}
		r := run{pipeline: name, key: fmt.Sprintf("penguins %d", i), work: "penguins", inputs: "penguins"}
		for _, event := range demo.Events(root, r.key) {
			event.ID, event.Pipeline = fmt.Sprintf("%s-%d", event.Data.Kind(), i), name
			r.events = append(r.events, event)
		}
		u.runs = append(u.runs, r)
	}
}

const (
	clients = 3
	waves   = 6
)

// clients connect while the bus is available.
func (w *world) clients() (buses [clients]events.Bus) {
	for c := range buses {
		buses[c] = w.connect(fmt.Sprintf("client-%d", c))
	}
	return buses
}

// publishAll has several clients publish every event, each one to three times, in an order of their
// own. They go wave by wave: a wave begins when half of the models of the one before are published.
func (u *upstream) publishAll(ctx context.Context, buses [clients]events.Bus, models func() int) error {
	var publishing errgroup.Group
	size := (len(u.runs) + waves - 1) / waves
	lists := make([][][]events.Event, clients)
	for from := 0; from < len(u.runs); from += size {
		for c, evs := range u.wave(u.runs[from:min(from+size, len(u.runs))]) {
			lists[c] = append(lists[c], evs)
		}
	}
	for c, list := range lists {
		publishing.Go(func() error {
			for wave, evs := range list {
				if err := waitFor(ctx, func() bool { return models() >= (wave-1)*size+size/2 || wave == 0 }); err != nil {
					return err
				}
				for _, event := range evs {
					if err := publish(ctx, buses[c], event); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	return publishing.Wait()
}

// wave deals the events of some runs to the clients.
func (u *upstream) wave(runs []run) [clients][]events.Event {
	var lists [clients][]events.Event
	for _, r := range runs {
		for _, event := range r.events {
			for range 1 + u.rand.IntN(3) {
				c := u.rand.IntN(clients)
				lists[c] = append(lists[c], event)
			}
		}
	}
	for _, list := range lists {
		u.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return lists
}

// publish repeats until the event is acknowledged.
func publish(ctx context.Context, bus events.Bus, event events.Event) error {
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := bus.Publish(try, event)
		cancel()
		invalid, _ := errors.AsType[*events.Invalid](err)
		if err == nil || ctx.Err() != nil || invalid != nil || errors.Is(err, events.ErrConflict) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// waitFor looks until it is so.
func waitFor(ctx context.Context, so func() bool) error {
	for !so() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
