package access

import (
	"slices"

	"github.com/stoker-ml/stoker/events"
)

// Permissions are subjects in the syntax of NATS, the same in a server's configuration and in a
// user's JWT. A subject that is not allowed is refused; one that is denied is refused even if it is
// allowed.
type Permissions struct {
	Publish   Subjects `json:"publish"`
	Subscribe Subjects `json:"subscribe"`
	// For clients: --nats-inbox, or inbox_prefix of a context of the nats tool.
	Inbox string `json:"inbox"`
}

// Subjects of one direction.
type Subjects struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny,omitempty"`
}

// Bus returns what a role may do on the bus, within its account: all that the role's programs need,
// and as little more as subjects can express.
func (r Role) Bus(s Scope) (Permissions, error) {
	g, err := r.grant(s)
	if err != nil {
		return Permissions{}, err
	}
	p := g.Permissions
	p.Inbox = s.inbox(r)
	for _, list := range []*[]string{&p.Publish.Allow, &p.Publish.Deny, &p.Subscribe.Allow} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p, nil
}

// Need is an operation of a role on the bus, and the permissions for it.
type Need struct {
	To                 string // a verb and its object: "take train jobs"
	Publish, Subscribe []string
}

// Needs returns the operations of a role, in the order of its programs. Bus allows all of them.
func (r Role) Needs(s Scope) ([]Need, error) {
	g, err := r.grant(s)
	return g.needs, err
}

func (r Role) grant(s Scope) (g grant, err error) {
	if err := s.check(r); err != nil {
		return g, err
	}
	switch r {
	case Upstream:
		g.upstream(s)
	case Dispatcher:
		g.dispatcher()
	case Worker:
		g.worker(s)
	case Bridge:
		g.bridge()
	case Console:
		g.console()
	case Notifier:
		g.notifier(s)
	case Exporter:
		g.exporter(s)
	case Operator:
		g.operator()
	}
	g.to("receive replies")
	g.listen(s.inbox(r) + ".>")
	return g, nil
}

// upstream publishes its events, and reads them back: an upload that is published twice finds the
// first.
func (g *grant) upstream(s Scope) {
	for _, pipeline := range s.Pipelines {
		g.to("publish events of " + pipeline)
		for _, kind := range s.kinds() {
			for _, subject := range events.EventFilters(events.Query{Kinds: []events.Kind{kind}, Pipeline: pipeline}) {
				g.publish(subject, api("DIRECT.GET", events.StreamEvents, subject))
			}
		}
	}
	g.connect()
	g.lookAt(events.StreamEvents)
}

// dispatcher reads events, keeps joins, enqueues and cancels jobs, and announces runs that end
// without a job.
func (g *grant) dispatcher() {
	g.connect()
	g.to("follow events")
	g.take(events.StreamEvents, dispatching)
	g.makeOwn(events.StreamEvents, dispatching) // its consumer may have been deleted
	g.to("read events and jobs")
	g.read(events.StreamEvents)
	g.get(events.StreamEvents, events.StreamJobs)
	g.deadLetter()
	g.to("enqueue jobs")
	g.publish(jobs("*", "*"))
	g.to("report queue lengths")
	g.publish(api("CONSUMER.LIST", events.StreamJobs))
	g.to("report the number of workers")
	g.read(events.StreamWorkers)
	g.to("publish outcomes of runs without a job")
	g.publishKinds(events.ByDispatcher)
	g.to("read pipelines")
	g.readKV(events.KVPipelines)
	g.syncKV(events.KVPipelines)
	g.to("read and write joins, gates and leases")
	for _, name := range []string{events.KVJoins, events.KVGates, events.KVLeases} {
		g.readKV(name)
		g.writeKV(name)
	}
}

// worker claims jobs of its classes under leases, publishes their outcomes, and writes the logs of
// studies, whose trials are jobs. It is the only role that requests from and replies for the hosts
// of one model: those of its classes.
func (g *grant) worker(s Scope) {
	g.connect()
	classes := s.Classes
	if len(classes) == 0 {
		classes = []string{"*"}
	}
	for _, function := range []events.Function{events.FunctionTrain, events.FunctionTune, events.FunctionTrial} {
		g.to("claim " + string(function) + " jobs")
		for _, class := range classes {
			g.takeJobs(string(function), class)
		}
	}
	g.to("hold leases")
	g.readKV(events.KVLeases)
	g.writeKV(events.KVLeases)
	g.to("read events, jobs and studies")
	g.read(events.StreamEvents, events.StreamStudies)
	g.get(events.StreamEvents, events.StreamJobs, events.StreamStudies)
	g.deadLetter()
	g.to("publish outcomes of jobs")
	g.publishKinds(events.ByWorker)
	g.to("enqueue trials and write studies")
	g.publish(jobs(string(events.FunctionTrial), "*"), events.StudiesFilter)
	g.to("report progress")
	g.publish(progress)
	g.to("report itself")
	for _, class := range classes {
		g.publish(events.WorkerFilter(class))
	}
	g.to("train one model on several hosts")
	for _, class := range classes {
		g.publish(events.HostsFilter(class))
		g.listen(events.HostsFilter(class))
	}
}

// bridge reads bucket notifications, checks what events made from them would do, and publishes
// these.
func (g *grant) bridge() {
	g.connect()
	g.to("follow bucket notifications")
	g.take(events.StreamBuckets, bridging)
	// Not created with the streams: a tenant may have no bridge.
	g.publish(api("CONSUMER.CREATE", events.StreamBuckets, bridging, events.BucketsFilter))
	g.get(events.StreamBuckets)
	g.deadLetter()
	g.to("check the effect of an event")
	g.read(events.StreamEvents)
	g.get(events.StreamEvents)
	for _, name := range []string{events.KVPipelines, events.KVJoins, events.KVGates, events.KVLeases} {
		g.readKV(name)
	}
	g.syncKV(events.KVPipelines)
	g.to("publish events")
	g.publishKinds(events.ByBridge)
}

// console reads everything, and the state of consumers, and may change nothing.
func (g *grant) console() {
	g.connect()
	g.to("read events, dead letters, studies and progress")
	g.read(events.StreamEvents, events.StreamDead, events.StreamStudies, streamProgress)
	g.get(events.StreamEvents, events.StreamJobs, events.StreamBuckets, events.StreamDead, events.StreamStudies, streamProgress)
	g.to("read pipelines, joins, gates and leases")
	for _, name := range []string{events.KVPipelines, events.KVJoins, events.KVGates, events.KVLeases} {
		g.readKV(name)
	}
	g.to("read the state of streams and consumers")
	g.publish(api("INFO"), api("CONSUMER.INFO", "*", "*"), api("CONSUMER.LIST", "*"))
	g.to("watch progress")
	g.listen(progress)
	g.to("list and watch workers")
	g.read(events.StreamWorkers)
	g.listen(events.WorkersFilter)
}

// notifier receives events and dead letters by consumers of its own. It looks up the message of a
// dead letter.
func (g *grant) notifier(s Scope) {
	g.connect()
	for _, name := range s.places(Notifier) {
		g.to("receive events and dead letters as " + name)
		g.hear(events.StreamEvents, name)
		g.hear(events.StreamDead, name)
	}
	g.to("look up the messages of dead letters")
	g.getCopies(events.StreamEvents)
	g.get(events.StreamJobs, events.StreamBuckets, events.StreamDead)
}

// exporter reads the same as the console about runs, and receives events by consumers of its own.
func (g *grant) exporter(s Scope) {
	g.connect()
	for _, name := range s.places(Exporter) {
		g.to("receive events as " + name)
		g.hear(events.StreamEvents, name)
	}
	g.to("read events and studies")
	g.read(events.StreamEvents, events.StreamStudies)
	g.get(events.StreamEvents, events.StreamStudies)
	g.to("look up active runs")
	g.readKV(events.KVPipelines)
	g.readKV(events.KVJoins)
	g.to("watch progress")
	g.listen(progress)
}

// operator may do in the account whatever Stoker does, and anything with JetStream. It takes no
// part in a training.
func (g *grant) operator() {
	for _, kept := range []string{
		events.EventsFilter, events.JobsFilter, events.DeadFilter, events.StudiesFilter, events.BucketsFilter, progress, events.WorkersFilter, "$KV.>",
	} {
		g.to("write and watch " + kept)
		g.publish(kept)
		g.listen(kept)
	}
	g.to("use all of JetStream")
	g.publish("$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "$JS.SNAPSHOT.>")
	g.listen("$JS.EVENT.>")
}
