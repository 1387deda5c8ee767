package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/infra/cluster"
)

// The streams of randomness of a chaos on three servers.
const (
	streamRuns uint64 = 100 + iota
	streamDisturbances
)

// maxSkew is how far a server's clock is off at most.
const maxSkew = 6 * time.Minute

// Pipelines of a chaos on three servers. Those that are applied right before their first event are
// named fresh and a number.
const (
	pipeSimple = "simple"
	pipeDrift  = "drift"  // its module changes: the same job is another execution then
	pipePair   = "pair"   // waits for two events
	pipeNarrow = "narrow" // queues
	pipeNewest = "newest" // supersedes
	pipeShort  = "short"  // expires soon
	pipeLong   = "long"   // expires after less than clocks are off
	pipeWindow = "window"
	pipeGated  = "gated" // paused and resumed
	pipeHeld   = "held"  // paused before its first event, and never resumed
	pipeBroken = "broken"
	pipeFresh  = "fresh"
)

// pipelineTexts are the definitions of pipelines after their name and module.
var pipelineTexts = map[string]string{
	pipeSimple: "trainer: {wait_for: [transform], hyperparameters: none}",
	pipeDrift:  "trainer: {wait_for: [transform], hyperparameters: none}",
	pipePair:   "trainer: {wait_for: [transform, hparams], hyperparameters: run}",
	pipeNarrow: "trainer: {wait_for: [transform], hyperparameters: none}\nconcurrency: {runs: 2, newest: queue}",
	pipeNewest: "trainer: {wait_for: [transform], hyperparameters: none}\nconcurrency: {runs: 1, newest: supersede}",
	pipeShort:  "trainer: {wait_for: [transform, examples], hyperparameters: none, expire_after: 3s}",
	pipeLong:   "trainer: {wait_for: [transform, examples], hyperparameters: none, expire_after: 4m}",
	pipeWindow: "trainer: {wait_for: [transform], hyperparameters: latest, window: 3, base_model: latest}",
	pipeGated:  "trainer: {wait_for: [transform], hyperparameters: none}\nconcurrency: {runs: 2, newest: queue}",
	pipeHeld:   "trainer: {wait_for: [transform], hyperparameters: none}",
	pipeBroken: "trainer: {wait_for: [transform], hyperparameters: none}",
	pipeFresh:  "trainer: {wait_for: [transform], hyperparameters: none}",
}

// order is one run: what is done for it.
type order struct {
	pipeline string
	run      string
	fresh    bool // the pipeline is applied first
	messages []message
	cancel   time.Duration // after the first event; below 0: never
}

// message is one copy of an event and its publisher.
type message struct {
	event  events.Event
	client int
}

// inOrder are the pipelines of the runs.
var inOrder = []string{
	pipeFresh, pipeSimple, pipePair, pipeNarrow, pipeNewest, pipePair, pipeShort, pipeLong, pipeWindow, pipeGated,
	pipeFresh, pipeDrift, pipePair, pipeNewest, pipeHeld, pipeBroken,
}

// orders returns the runs of a plan.
func (p plan) orders() (all []order) {
	r := p.rand(streamRuns)
	for i := range p.jobs {
		o := order{pipeline: inOrder[i%len(inOrder)], run: fmt.Sprintf("run %d", i), cancel: -1}
		if o.pipeline == pipeFresh {
			o.pipeline, o.fresh = fmt.Sprintf("%s-%d", pipeFresh, i), true
		}
		if o.pipeline != pipeHeld && r.IntN(4) == 0 {
			o.cancel = time.Duration(r.IntN(1500)) * time.Millisecond
		}
		o.messages = o.publications(r, int64(i))
		all = append(all, o)
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// publications returns one to three copies of each event of a run, of which there may be two of a
// kind, shuffled. One run in three of a pipeline that expires lacks one.
func (o order) publications(r *rand.Rand, span int64) (all []message) {
	data := []events.Data{transformOf(span)}
	switch {
	case o.pipeline == pipePair || o.pipeline == pipeWindow && span%3 == 0:
		data = append(data, &events.HParamsReady{Hyperparameters: "s3://bkt/hp"})
	case (o.pipeline == pipeShort || o.pipeline == pipeLong) && span/int64(len(inOrder))%3 > 0:
		data = append(data, &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/x"}}})
	}
	if r.IntN(4) == 0 {
		data = append(data, transformOf(span+1))
	}
	for i, d := range data {
		event := events.Event{ID: fmt.Sprintf("%s-%d", d.Kind(), i), Source: "/upstream", Pipeline: o.pipeline, Run: o.run, Data: d}
		for range 1 + r.IntN(3) {
			all = append(all, message{event, r.IntN(cluster.Size)})
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func transformOf(span int64) *events.TransformReady {
	return &events.TransformReady{
		TransformGraph:      "s3://bkt/graph",
		TransformedExamples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/tx-%d", span), Span: span}},
	}
}

// disturbance is one thing that goes wrong, for a while.
type disturbance struct {
	what   string
	server int
	other  int    // of a link
	stream string // whose leader is meant
	amount time.Duration
	abrupt bool
	hold   time.Duration
}

func (d disturbance) String() string {
	return fmt.Sprintf("%s server=S%d other=S%d stream=%s amount=%s abrupt=%t for %s", d.what, d.server+1, d.other+1, d.stream, d.amount, d.abrupt, d.hold)
}

// The disturbances on three servers.
const (
	slowLink       = "slow link"
	slowClients    = "slow clients"
	cutOff         = "server cut off"
	killLeader     = "leader killed"
	freezeLeader   = "leader frozen"
	stepDown       = "leader steps down"
	wrongClock     = "clock set off"
	stopDispatcher = "dispatcher restarted"
	stopWorker     = "worker restarted"
	removeJobs     = "JOBS removed"
	newModule      = "module changed"
	pauseResume    = "pipeline paused and resumed"
)

// disturbances has everything that can go wrong once in each round, shuffled.
func (p plan) disturbances() (all []disturbance) {
	r := p.rand(streamDisturbances)
	kinds := []string{slowLink, slowClients, cutOff, cutOff, killLeader, killLeader, freezeLeader, stepDown, stepDown, wrongClock, wrongClock,
		stopDispatcher, stopWorker, removeJobs, newModule, pauseResume}
	streams := []string{"EVENTS", "JOBS", "KV_JOINS", "KV_GATES", "KV_LEASES", "KV_PIPELINES"}
	for range max(1, p.jobs/48) {
		for _, i := range r.Perm(len(kinds)) {
			server := r.IntN(cluster.Size)
			d := disturbance{
				what: kinds[i], server: server, other: (server + 1 + r.IntN(2)) % cluster.Size, stream: streams[r.IntN(len(streams))],
				abrupt: r.IntN(2) == 0, hold: time.Second + time.Duration(r.IntN(4000))*time.Millisecond,
			}
			switch d.what {
			case wrongClock:
				d.amount = time.Duration(r.Int64N(int64(2*maxSkew))) - maxSkew
			case slowLink, slowClients:
				d.amount = time.Duration(1+r.IntN(80)) * time.Millisecond
			}
			all = append(all, d)
		}
	}
	return all
}
