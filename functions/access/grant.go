package access

import (
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// grant collects what a role may do, in steps that name what its programs do by them.
type grant struct {
	Permissions
	needs []Need
}

// to begins what it does next.
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

// connect is what every letterbox asks when it is opened.
func (g *grant) connect() { g.to("come in"); g.lookAt(keyValue(events.KVLeases)) }

// lookAt lets it ask how streams are configured and how much they hold, subjects among it.
func (g *grant) lookAt(streams ...string) {
	for _, stream := range streams {
		g.publish(api("STREAM.INFO", stream))
	}
}

// get lets it read single messages of streams, by number or subject.
func (g *grant) get(streams ...string) {
	for _, stream := range streams {
		g.lookAt(stream)
		g.publish(api("STREAM.MSG.GET", stream), api("DIRECT.GET", stream), api("DIRECT.GET", stream, ">"))
	}
}

// getCopies lets it read single messages of a stream of any server that has a copy, and not go through the stream by asking its leader for
// one after another.
func (g *grant) getCopies(stream string) {
	g.lookAt(stream)
	g.publish(api("DIRECT.GET", stream), api("DIRECT.GET", stream, ">"))
}

// read lets it go through streams by short-lived consumers of its own, and keeps the lasting ones from it: who may make a consumer
// under any name could put another in their place, or remove them, and jobs or facts would get lost.
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

// guard keeps a lasting consumer from who may make others on its stream, unless take or hear gives it back.
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

// take lets it receive from a lasting consumer, and settle what it got. Servers have two forms of the subject of an
// acknowledgement; the second one names domain and account too.
func (g *grant) take(stream, consumer string) {
	g.publish(api("CONSUMER.INFO", stream, consumer), api("CONSUMER.MSG.NEXT", stream, consumer),
		"$JS.ACK."+stream+"."+consumer+".>", "$JS.ACK.*.*."+stream+"."+consumer+".>")
}

// takeJobs lets it take the jobs of a function and a class, and make their consumer where nobody has: one whose filter is theirs.
// A name can't be a pattern, so that "*" as class is any consumer of the queue.
func (g *grant) takeJobs(function, class string) {
	consumer := function + "-" + class
	if class == "*" {
		consumer = "*"
	}
	g.take(events.StreamJobs, consumer)
	g.publish(api("CONSUMER.CREATE", events.StreamJobs, consumer, jobs(function, class)))
}

// hear lets it have a lasting consumer by that name, make it where nobody has, and change what it hears of.
func (g *grant) hear(stream, listener string) {
	g.lookAt(stream)
	g.take(stream, listener)
	g.makeOwn(stream, listener)
}

// makeOwn lets it make or change a lasting consumer of that name, which is its own.
func (g *grant) makeOwn(stream, consumer string) {
	g.publish(api("CONSUMER.CREATE", stream, consumer), api("CONSUMER.CREATE", stream, consumer, ">"))
}

// bury lets it keep dead letters, and look up whether one is kept already.
func (g *grant) deadLetter() {
	g.to("bury what can't be read")
	g.lookAt(events.StreamDead)
	g.publish(events.DeadFilter, api("DIRECT.GET", events.StreamDead, events.DeadFilter))
}

// readRegister lets it read and watch a register.
func (g *grant) readKV(name string) {
	g.read(keyValue(name))
	g.get(keyValue(name))
}

// syncRegister lets it make its reads of a register linearizable, by a key that nothing is kept below.
func (g *grant) syncKV(name string) { g.publish("$KV." + name + "./sync") }

// writeRegister lets it change a register, by keys: the stream below stays closed.
func (g *grant) writeKV(name string) { g.publish("$KV." + name + ".>") }

// keyValue is the stream of a register.
func keyValue(bucket string) string { return "KV_" + bucket }

// api is the subject of a request to JetStream.
func api(call string, tokens ...string) string {
	return strings.Join(append([]string{"$JS.API", call}, tokens...), ".")
}

// What is reported of running jobs, and the stream that keeps the last of it.
const (
	streamProgress = "PROGRESS"
	progress       = "progress.>"
)

func evs(kind events.Kind) string {
	return events.EventFilters(events.Query{Kinds: []events.Kind{kind}})[0]
}

func jobs(function, class string) string {
	return events.JobFilter(events.Function(function), class)
}

// lasting are the consumers of a stream that outlive their readers, those of listeners under the names that their commands have.
func lasting(stream string) []string {
	switch stream {
	case events.StreamEvents:
		return []string{dispatching, notifying + standardName, exporting}
	case events.StreamDead:
		return []string{notifying + standardName}
	}
	return nil
}

// Names of lasting consumers: the dispatcher's, the bridge's, and those that `stoker notify` and `stoker lineage export` have unless told otherwise.
const (
	dispatching  = "dispatch"
	bridging     = "bridge"
	notifying    = "notify-" // before the notifier's name
	standardName = "default"
	exporting    = "openlineage"
)
