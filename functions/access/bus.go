package access

import (
	"slices"

	"github.com/stoker-ml/stoker/events"
)

// Permissions are subjects, as NATS takes them: in a server's configuration and in a user's JWT alike. What is not allowed is
// refused; what is denied is refused even where it is allowed.
type Permissions struct {
	Publish   Subjects `json:"publish"`
	Subscribe Subjects `json:"subscribe"`
	Inbox     string   `json:"inbox"` // that clients are to be told: --nats-inbox, or inbox_prefix of a context of the nats tool's
}

// Subjects of one direction.
type Subjects struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny,omitempty"`
}

// Bus is what a role may do on the bus, within its account. It is all that the role's programs need, and no more than subjects can say.
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

// Need is something that a role does on the bus, and what that takes.
type Need struct {
	To                 string // a verb: "take train jobs"
	Publish, Subscribe []string
}

// Needs are what a role does, in the order in which its programs come to it. All of it together is what Bus allows.
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
	g.to("hear answers")
	g.listen(s.inbox(r) + ".>")
	return g, nil
}

// upstream may add its facts, and see them again: an upload that is told twice finds the first.
func (g *grant) upstream(s Scope) {
	for _, pipeline := range s.Pipelines {
		g.to("tell facts of " + pipeline)
		for _, kind := range s.kinds() {
			for _, subject := range events.EventFilters(events.Query{Kinds: []events.Kind{kind}, Pipeline: pipeline}) {
				g.publish(subject, api("DIRECT.GET", events.StreamEvents, subject))
			}
		}
	}
	g.connect()
	g.lookAt(events.StreamEvents)
}

// dispatcher reads facts, keeps joins, offers jobs and cancels them, and tells of what never came to be a job.
func (g *grant) dispatcher() {
	g.connect()
	g.to("take facts")
	g.take(events.StreamEvents, dispatching)
	g.makeOwn(events.StreamEvents, dispatching) // where somebody has deleted it
	g.to("read facts and jobs")
	g.read(events.StreamEvents)
	g.get(events.StreamEvents, events.StreamJobs)
	g.deadLetter()
	g.to("offer jobs")
	g.publish(jobs("*", "*"))
	g.to("tell how long their queues are")
	g.publish(api("CONSUMER.LIST", events.StreamJobs))
	g.to("tell what never came to be a job")
	g.publish(evs(events.KindTrainingFailed), evs(events.KindTuningFailed), evs(events.KindHParamsReady))
	g.to("read pipelines")
	g.readKV(events.KVPipelines)
	g.syncKV(events.KVPipelines)
	g.to("keep joins, gates and leases")
	for _, name := range []string{events.KVJoins, events.KVGates, events.KVLeases} {
		g.readKV(name)
		g.writeKV(name)
	}
}

// worker takes jobs of its classes under leases, tells what comes of them, and writes the logs of studies, whose trials are jobs.
func (g *grant) worker(s Scope) {
	g.connect()
	classes := s.Classes
	if len(classes) == 0 {
		classes = []string{"*"}
	}
	for _, function := range []events.Function{events.FunctionTrain, events.FunctionTune, events.FunctionTrial} {
		g.to("take " + string(function) + " jobs")
		for _, class := range classes {
			g.takeJobs(string(function), class)
		}
	}
	g.to("hold leases")
	g.readKV(events.KVLeases)
	g.writeKV(events.KVLeases)
	g.to("read facts, jobs and studies")
	g.read(events.StreamEvents, events.StreamStudies)
	g.get(events.StreamEvents, events.StreamJobs, events.StreamStudies)
	g.deadLetter()
	g.to("tell what came of jobs")
	g.publish(evs(events.KindModelTrained), evs(events.KindTrainingFailed), evs(events.KindHParamsReady), evs(events.KindTuningFailed))
	g.to("search: offer trials, write studies")
	g.publish(jobs(string(events.FunctionTrial), "*"), events.StudiesFilter)
	g.to("report progress")
	g.publish(progress)
}

// bridge reads what stores tell, checks what events of it will do, and publishes them.
func (g *grant) bridge() {
	g.connect()
	g.to("take notices of uploads")
	g.take(events.StreamBuckets, bridging)
	g.publish(api("CONSUMER.CREATE", events.StreamBuckets, bridging, events.BucketsFilter)) // nobody makes it for those who have no bridge
	g.get(events.StreamBuckets)
	g.deadLetter()
	g.to("check what an event will do")
	g.read(events.StreamEvents)
	g.get(events.StreamEvents)
	for _, name := range []string{events.KVPipelines, events.KVJoins, events.KVGates, events.KVLeases} {
		g.readKV(name)
	}
	g.syncKV(events.KVPipelines)
	g.to("tell facts")
	g.publish(evs(events.KindExamplesReady), evs(events.KindTransformReady), evs(events.KindHParamsReady))
}

// console reads everything, and the server's word on its consumers, of which it may move none.
func (g *grant) console() {
	g.connect()
	g.to("read facts, dead letters, studies and progress")
	g.read(events.StreamEvents, events.StreamDead, events.StreamStudies, streamProgress)
	g.get(events.StreamEvents, events.StreamJobs, events.StreamBuckets, events.StreamDead, events.StreamStudies, streamProgress)
	g.to("read pipelines, joins, gates and leases")
	for _, name := range []string{events.KVPipelines, events.KVJoins, events.KVGates, events.KVLeases} {
		g.readKV(name)
	}
	g.to("see how streams and consumers are")
	g.publish(api("INFO"), api("CONSUMER.INFO", "*", "*"), api("CONSUMER.LIST", "*"))
	g.to("watch progress")
	g.listen(progress)
}

// notifier hears of facts and dead letters in places of its own. A dead letter tells of a message, which is looked up.
func (g *grant) notifier(s Scope) {
	g.connect()
	for _, name := range s.places(Notifier) {
		g.to("hear of facts and dead letters as " + name)
		g.hear(events.StreamEvents, name)
		g.hear(events.StreamDead, name)
	}
	g.to("look up what dead letters are of")
	g.getCopies(events.StreamEvents)
	g.get(events.StreamJobs, events.StreamBuckets, events.StreamDead)
}

// exporter reads what the console does of runs, and hears of facts in places of its own.
func (g *grant) exporter(s Scope) {
	g.connect()
	for _, name := range s.places(Exporter) {
		g.to("hear of facts as " + name)
		g.hear(events.StreamEvents, name)
	}
	g.to("read facts and studies")
	g.read(events.StreamEvents, events.StreamStudies)
	g.get(events.StreamEvents, events.StreamStudies)
	g.to("look up runs that go on")
	g.readKV(events.KVPipelines)
	g.readKV(events.KVJoins)
	g.to("watch progress")
	g.listen(progress)
}

// operator may do in the account whatever Stoker does, and with JetStream what there is.
func (g *grant) operator() {
	for _, kept := range []string{
		events.EventsFilter, events.JobsFilter, events.DeadFilter, events.StudiesFilter, events.BucketsFilter, progress, "$KV.>",
	} {
		g.to("write and watch " + kept)
		g.publish(kept)
		g.listen(kept)
	}
	g.to("do what JetStream does")
	g.publish("$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "$JS.SNAPSHOT.>")
	g.listen("$JS.EVENT.>")
}
