// Command publish publishes an event to Stoker: publish KIND PIPELINE RUN DATA.json [structured]
//
// KIND is examples.ready, transform.ready or hparams.ready; DATA.json conforms to the kind's JSON
// Schema (events/schema). Publishing the same event again succeeds, and the bus keeps one. If the
// subject holds another event, publish fails.
//
// NATS_URL is where the bus is. Who you are: NATS_CREDS, a .creds file, or NATS_NKEY, a file with a
// seed, or a user and a password in the URL. Whom you trust: NATS_CA, a file with certificates;
// else the system's. NATS_INBOX_PREFIX and NATS_JETSTREAM_DOMAIN: the prefix of inboxes and the
// JetStream domain, where permissions need them (`stoker access nats`).
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 4 {
		return errors.New("expected KIND PIPELINE RUN DATA.json [structured]")
	}
	data, err := os.ReadFile(args[3])
	if err != nil {
		return err
	}
	options, err := settings()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// A publish that is not permitted gets no answer: the server reports it asynchronously.
	ctx, refuse := context.WithCancelCause(ctx)
	options = append(options, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refuse(err) }))
	conn, err := nats.Connect(os.Getenv("NATS_URL"), options...)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err = publish(ctx, conn, args[0], args[1], args[2], data, len(args) > 4 && args[4] == "structured"); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// publish returns nil once the bus has the event for good.
func publish(ctx context.Context, conn *nats.Conn, kind, pipeline, run string, data []byte, structured bool) error {
	sum := sha256.Sum256([]byte(strings.Join([]string{kind, pipeline, run, string(data)}, "\n")))
	event := cloudevents.New()
	event.SetType("dev.stoker." + kind + ".v1")
	event.SetSource("/upstream/go")
	event.SetID(hex.EncodeToString(sum[:16]))
	event.SetSubject(pipeline)
	event.SetExtension("run", run)
	if err := errors.Join(event.SetData("application/json", json.RawMessage(data)), event.Validate()); err != nil {
		return err
	}
	subject := strings.Join([]string{"events", strings.ReplaceAll(kind, ".", "-"), pipeline, escape(run), event.ID()}, ".")
	message, err := encode(event, subject, structured)
	if err != nil {
		return err
	}
	bus, err := stream(conn)
	if err != nil {
		return err
	}
	// The subject ends in the id. It may contain no message yet; the ids that other publishers use
	// on their subjects don't matter. JetStream compares Nats-Msg-Id within the whole stream, so
	// that others could make it drop this event as a duplicate.
	_, err = bus.PublishMsg(ctx, message, jetstream.WithExpectLastSequencePerSubject(0))
	if taken(err) {
		return same(ctx, bus, message)
	}
	return err
}

// stream opens JetStream, of a domain where NATS_JETSTREAM_DOMAIN names one.
func stream(conn *nats.Conn) (jetstream.JetStream, error) {
	if domain := os.Getenv("NATS_JETSTREAM_DOMAIN"); domain != "" {
		return jetstream.NewWithDomain(conn, domain)
	}
	return jetstream.New(conn)
}

// taken reports whether the subject holds a message. Replicated streams have a code of their own
// for it.
func taken(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// same returns nil if the message that the subject holds is the same event. A server that answers
// from its own copy of the stream may not have the message yet.
func same(ctx context.Context, bus jetstream.JetStream, message *nats.Msg) error {
	evs, err := bus.Stream(ctx, "EVENTS")
	if err != nil {
		return err
	}
	first, err := evs.GetLastMsgForSubject(ctx, message.Subject)
	for ; errors.Is(err, jetstream.ErrMsgNotFound) && ctx.Err() == nil; first, err = evs.GetLastMsgForSubject(ctx, message.Subject) {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	equal := bytes.Equal(first.Data, message.Data)
	for name, values := range message.Header {
		equal = equal && (!strings.HasPrefix(name, "ce-") || slices.Equal(first.Header[name], values))
	}
	if !equal {
		return fmt.Errorf("%s holds another event with this id, message %d", message.Subject, first.Sequence)
	}
	return nil
}

// encode writes the event by CloudEvents' NATS binding: as headers and data, or as one JSON object.
func encode(event cloudevents.Event, subject string, structured bool) (*nats.Msg, error) {
	if structured {
		body, err := json.Marshal(event)
		return &nats.Msg{Subject: subject, Header: nats.Header{"Content-Type": {"application/cloudevents+json"}}, Data: body}, err
	}
	header := nats.Header{
		"ce-specversion": {event.SpecVersion()}, "ce-type": {event.Type()}, "ce-source": {event.Source()}, "ce-id": {event.ID()},
		"ce-subject": {event.Subject()}, "ce-datacontenttype": {event.DataContentType()},
	}
	for name, value := range event.Extensions() {
		header["ce-"+name] = []string{percent.ReplaceAllStringFunc(fmt.Sprint(value), coded("%"))}
	}
	return &nats.Msg{Subject: subject, Header: header, Data: event.Data()}, nil
}

var (
	// Characters that the binding requires to be encoded (section 3.1.3.2).
	percent = regexp.MustCompile(`[^!-~]|["%]`)
	token   = regexp.MustCompile(`[^A-Za-z0-9_/-]`) // what a run can't have in a subject
)

// escape makes one token of a subject of a run.
func escape(run string) string { return token.ReplaceAllStringFunc(run, coded("=")) }

// coded writes each byte behind a sign, as two hexadecimal digits.
func coded(sign string) func(string) string {
	return func(text string) (out string) {
		for _, b := range []byte(text) {
			out += fmt.Sprintf("%s%02X", sign, b)
		}
		return out
	}
}

// settings returns how the bus is reached, by the names that the nats tool knows.
func settings() (options []nats.Option, err error) {
	if file := os.Getenv("NATS_CREDS"); file != "" {
		options = append(options, nats.UserCredentials(file))
	}
	if file := os.Getenv("NATS_NKEY"); file != "" {
		key, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			return nil, err
		}
		options = append(options, key)
	}
	if file := os.Getenv("NATS_CA"); file != "" {
		options = append(options, nats.RootCAs(file))
	}
	if prefix := os.Getenv("NATS_INBOX_PREFIX"); prefix != "" {
		options = append(options, nats.CustomInboxPrefix(prefix))
	}
	return options, nil
}
