package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// poison is a message of a foreign client that can never be handled.
type poison struct {
	name    string
	subject string
	header  nats.Header
	body    []byte
	failed  string // the run whose failure is published, if one is known: pipeline/run

	stream   string // where it was stored
	sequence uint64
}

// poisons returns the messages of one round.
func (w *world) poisons(round int) []*poison {
	id := fmt.Sprintf("poison-%d", round)
	unknown := events.Event{
		ID: id, Source: "/stranger", Pipeline: "nobody", Run: id,
		Data: &events.TransformReady{TransformGraph: "s3://bucket/graph"},
	}
	header, body, err := events.Encode(unknown)
	w.must(err)
	empty := nats.Header{}
	for key, values := range header {
		empty[key] = values
	}
	lost := events.Job{
		ID: id + "-lost", Function: events.FunctionTrain, Class: "cpu", Pipeline: "tiny", Run: id + " lost", Created: time.Now(),
		Spec:   json.RawMessage(`{"pipeline":"tiny","module":"builtin:tiny","trainer":{"hyperparameters":"none"}}`),
		Inputs: events.Inputs{Examples: []events.Examples{{URI: w.root.Join("nowhere").String()}}},
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/stranger", ID: id, Sequence: 1}},
	}
	senseless := lost
	senseless.ID, senseless.Run, senseless.Spec = id+"-senseless", id+" senseless", json.RawMessage(`{"pipeline":"tiny","modul":"x"}`)
	astray := lost
	astray.ID = id + "-astray"
	return []*poison{
		{name: "an event that is no JSON", subject: "events.examples-ready.tiny." + id, body: []byte(`{"specversion": "1.0"`)},
		{name: "an event without data", subject: "events.transform-ready.nobody." + id + ".empty", header: empty, body: []byte(`{}`)},
		{name: "an event of an unknown pipeline", subject: events.EventSubject(unknown), header: nats.Header(header), body: body, failed: "nobody/" + id},
		{name: "a job that is no JSON", subject: "jobs.train.cpu." + id, body: []byte("\x00\xff")},
		{name: "a job in another's place", subject: "jobs.train.cpu." + id + "-elsewhere", body: w.encode(astray)},
		{name: "a job without its inputs", subject: events.JobSubject(lost), body: w.encode(lost), failed: "tiny/" + lost.Run},
		{name: "a job without a pipeline", subject: events.JobSubject(senseless), body: w.encode(senseless), failed: "tiny/" + senseless.Run},
	}
}

func (w *world) encode(job events.Job) []byte {
	body, err := json.Marshal(job)
	w.must(err)
	return body
}

// inject publishes one poison message once: the bus keeps running during that.
func (w *world) inject(ctx context.Context, p *poison) error {
	w.busIsUp.Lock()
	defer w.busIsUp.Unlock()
	msg := &nats.Msg{Subject: p.subject, Header: p.header, Data: p.body}
	if err := w.answers(ctx); err != nil {
		return err
	}
	ack, err := w.js.PublishMsg(ctx, msg, natsjs.WithMsgID(p.subject))
	if err != nil {
		return fmt.Errorf("inject %s: %w", p.name, err)
	}
	p.stream, p.sequence = ack.Stream, ack.Sequence
	return nil
}

// answers waits until the bus does.
func (w *world) answers(ctx context.Context) error {
	return waitFor(ctx, func() bool {
		try, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := w.js.AccountInfo(try)
		return err == nil
	})
}

// stopBus ends the bus, and returns when its next life answers.
func (w *world) stopBus(ctx context.Context, stop busStop) error {
	w.busIsUp.Lock()
	defer w.busIsUp.Unlock()
	life := strings.Count(w.logOf(w.busProcess), "msg=begins")
	w.busProcess.end(stop.signal)
	err := waitFor(ctx, func() bool { return strings.Count(w.logOf(w.busProcess), "msg=begins") > life })
	if err != nil {
		return err
	}
	return w.answers(ctx)
}
