package access

import (
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// grant collects what a role may do, by the operations of its programs.
type grant struct {
	Permissions
	needs []Need
}

// to begins the next operation.
func (g *grant) to(do string) { g.needs = append(g.needs, Need{To: do}) }

func (g *grant) need() *Need { return &g.needs[len(g.needs)-1] }

func (g *grant) publish(subjects ...string) {
	g.Publish.Allow = append(g.Publish.Allow, subjects...)
	g.need().Publish = append(g.need().Publish, subjects...)
}

func (g *grant) deny(subjects ...string) { g.Publish.Deny = append(g.Publish.Deny, subjects...) }

func (g *grant) listen(subjects ...string) {
	g.Subscribe.Allow = append(g.Subscribe.Allow, subjects...)
	g.need().Subscribe = append(g.need().Subscribe, subjects...)
}

// connect permits what every bus client requests when it connects.
func (g *grant) connect() { g.to("connect"); g.lookAt(keyValue(events.KVLeases)) }

// lookAt permits reading how streams are configured and how much they hold, also by subject.
func (g *grant) lookAt(streams ...string) {
	for _, stream := range streams {
		g.publish(api("STREAM.INFO", stream))
	}
}

// get permits reading single messages of streams, by number or subject.
func (g *grant) get(streams ...string) {
	for _, stream := range streams {
		g.lookAt(stream)
		g.publish(api("STREAM.MSG.GET", stream), api("DIRECT.GET", stream), api("DIRECT.GET", stream, ">"))
	}
}

// getCopies permits reading single messages of a stream from any server that has a copy, but not
// reading the whole stream by asking its leader for one message after another.
func (g *grant) getCopies(stream string) {
	g.lookAt(stream)
	g.publish(api("DIRECT.GET", stream), api("DIRECT.GET", stream, ">"))
}

// read permits reading streams by short-lived consumers, but not by the durable ones: a client that
// may create a consumer of any name could replace or remove those, and jobs or events would be
// lost.
func (g *grant) read(streams ...string) {
	for _, stream := range streams {
		g.lookAt(stream)
		for _, call := range []string{"CONSUMER.CREATE", "CONSUMER.DELETE", "CONSUMER.INFO", "CONSUMER.MSG.NEXT"} {
			g.publish(api(call, stream, ">"))
		}
		g.publish("$JS.FC." + stream + ".>")
		for _, lasting := range lasting(stream) {
			g.guard(stream, lasting)
		}
	}
}

// guard denies a durable consumer to a role that may create others on its stream, unless take or
// hear permits it again.
func (g *grant) guard(stream, consumer string) {
	made := api("CONSUMER.CREATE", stream, consumer)
	if !g.may(made) {
		g.deny(made, made+".>")
	}
	if g.deny(api("CONSUMER.DELETE", stream, consumer)); !g.may(api("CONSUMER.MSG.NEXT", stream, consumer)) {
		g.deny(api("CONSUMER.MSG.NEXT", stream, consumer))
	}
}

func (g *grant) may(subject string) bool { return slices.Contains(g.Publish.Allow, subject) }

// take permits receiving from a durable consumer, and acknowledging. Servers have two forms of the
// subject of an acknowledgement; the second one also contains domain and account.
func (g *grant) take(stream, consumer string) {
	g.publish(api("CONSUMER.INFO", stream, consumer), api("CONSUMER.MSG.NEXT", stream, consumer),
		"$JS.ACK."+stream+"."+consumer+".>", "$JS.ACK.*.*."+stream+"."+consumer+".>")
}

// takeJobs permits claiming the jobs of a function and a class, and creating their consumer if it
// is missing, with their filter. A name can't be a pattern, so "*" as class is any consumer of the
// queue.
func (g *grant) takeJobs(function, class string) {
	consumer := function + "-" + class
	if class == "*" {
		consumer = "*"
	}
	g.take(events.StreamJobs, consumer)
	g.publish(api("CONSUMER.CREATE", events.StreamJobs, consumer, jobs(function, class)))
}

// hear permits using a durable consumer of that name, creating it if it is missing, and changing
// its filter.
func (g *grant) hear(stream, listener string) {
	g.lookAt(stream)
	g.take(stream, listener)
	g.makeOwn(stream, listener)
}

// makeOwn permits creating or changing a durable consumer of that name.
func (g *grant) makeOwn(stream, consumer string) {
	g.publish(api("CONSUMER.CREATE", stream, consumer), api("CONSUMER.CREATE", stream, consumer, ">"))
}

// deadLetter permits appending dead letters, and looking up whether one exists already.
func (g *grant) deadLetter() {
	g.to("dead-letter messages that can't be parsed")
	g.lookAt(events.StreamDead)
	g.publish(events.DeadFilter, api("DIRECT.GET", events.StreamDead, events.DeadFilter))
}

// readKV permits reading and watching a bucket.
func (g *grant) readKV(name string) {
	g.read(keyValue(name))
	g.get(keyValue(name))
}

// syncKV permits making reads of a bucket linearizable, by writing a key without content.
func (g *grant) syncKV(name string) { g.publish("$KV." + name + "./sync") }

// writeKV permits changing a bucket through its keys: its stream stays closed.
func (g *grant) writeKV(name string) { g.publish("$KV." + name + ".>") }

// keyValue returns the stream of a bucket.
func keyValue(bucket string) string { return "KV_" + bucket }

// api returns the subject of a request to JetStream.
func api(call string, tokens ...string) string {
	return strings.Join(append([]string{"$JS.API", call}, tokens...), ".")
}

// The subject of progress of running jobs, and the stream that keeps the last of it.
const (
	streamProgress = "PROGRESS"
	progress       = "progress.>"
)

// publishKinds permits to publish the events that a part of the deployment publishes.
func (g *grant) publishKinds(by events.Publisher) {
	g.publish(events.EventFilters(events.Query{Kinds: events.PublishedBy(by)})...)
}

func jobs(function, class string) string {
	return events.JobFilter(events.Function(function), class)
}

// lasting returns the durable consumers of a stream, those of listeners under the default names of
// their commands.
func lasting(stream string) []string {
	switch stream {
	case events.StreamEvents:
		return []string{dispatching, notifying + standardName, exporting}
	case events.StreamDead:
		return []string{notifying + standardName}
	}
	return nil
}

// Names of durable consumers: the dispatcher's, the bridge's, and the defaults of `stoker notify`
// and `stoker lineage export`.
const (
	dispatching  = "dispatch"
	bridging     = "bridge"
	notifying    = "notify-" // followed by the notifier's name
	standardName = "default"
	exporting    = "openlineage"
)
