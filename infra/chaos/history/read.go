package history

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Read reads all but Published from a bus. Every message is requested from its stream's leader,
// never from a replica.
func Read(ctx context.Context, nc *nats.Conn) (h History, err error) {
	h = History{Pipelines: map[string][]Revision{}, Joins: map[string]Join{}, Gates: map[string]Gate{}, Leases: map[string]Lease{}, Now: time.Now()}
	for _, part := range []struct {
		stream string
		add    func(message) error
	}{
		{"EVENTS", h.addEvent},
		{"KV_PIPELINES", h.addPipeline},
		{"KV_JOINS", h.addJoin},
		{"KV_GATES", h.addGate},
		{"KV_LEASES", h.addLease},
		{"JOBS", h.addJob},
		{"DEAD", h.addDeadLetter},
	} {
		if err := each(ctx, nc, part.stream, part.add); err != nil {
			return h, fmt.Errorf("read %s: %w", part.stream, err)
		}
	}
	return h, nil
}

// message is one message of a stream.
type message struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Hdrs    []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

const notFound = 10037 // JetStream's code for: no message found

// each calls do for each message of a stream, in its order.
func each(ctx context.Context, nc *nats.Conn, stream string, do func(message) error) error {
	for next := uint64(1); ; {
		var said struct {
			Message message
			Error   *struct {
				Code        int    `json:"err_code"`
				Description string `json:"description"`
			}
		}
		ask := fmt.Appendf(nil, `{"seq":%d,"next_by_subj":">"}`, next)
		reply, err := request(ctx, nc, "$JS.API.STREAM.MSG.GET."+stream, ask)
		if err == nil {
			err = json.Unmarshal(reply.Data, &said)
		}
		switch {
		case err != nil:
			return fmt.Errorf("message %d: %w", next, err)
		case said.Error != nil && said.Error.Code == notFound:
			return nil
		case said.Error != nil:
			return fmt.Errorf("message %d: %s", next, said.Error.Description)
		}
		if err := do(said.Message); err != nil {
			return fmt.Errorf("message %d on %s: %w", said.Message.Seq, said.Message.Subject, err)
		}
		next = said.Message.Seq + 1
	}
}

// answerTime is what a request may take: the leader of a stream may go while it has one.
const answerTime = 5 * time.Second

func request(ctx context.Context, nc *nats.Conn, subject string, body []byte) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return nc.RequestWithContext(ctx, subject, body)
}

// header returns the values of a message's header by lower-case names.
func (m message) header() (map[string]string, error) {
	if len(m.Hdrs) == 0 {
		return nil, nil
	}
	decoded, err := nats.DecodeHeadersMsg(m.Hdrs)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, values := range decoded {
		if len(values) > 0 {
			out[strings.ToLower(name)] = values[0]
		}
	}
	return out, nil
}

// addEvent reads a CloudEvent in binary mode, which all publishers of a chaos test write.
func (h *History) addEvent(m message) error {
	header, err := m.header()
	if err != nil {
		return err
	}
	get := func(name string) string {
		value, err := url.PathUnescape(header["ce-"+name])
		if err != nil {
			return header["ce-"+name]
		}
		return value
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(get("type"), "dev.stoker."), ".v1")
	e := Event{
		Run: Run{get("subject"), get("run")}, Sequence: m.Seq, Stored: m.Time, Subject: m.Subject, Kind: kind,
		Source: get("source"), ID: get("id"), Causation: get("causationid"),
	}
	if kind == "" || e.ID == "" || json.Unmarshal(m.Data, &e.Data) != nil {
		e.Kind = unreadable
	}
	h.Events = append(h.Events, e)
	return nil
}

// entry returns the key of a message of a KV bucket; false if the key was deleted.
func (m message) entry() (key string, present bool, err error) {
	header, err := m.header()
	_, key, _ = strings.Cut(strings.TrimPrefix(m.Subject, "$KV."), ".")
	_, marked := header["nats-marker-reason"]
	return key, header["kv-operation"] == "" && !marked && !strings.HasPrefix(key, "/"), err
}

func (h *History) addPipeline(m message) error {
	key, present, err := m.entry()
	if err != nil || !present {
		return err
	}
	revision := Revision{Revision: m.Seq}
	if err := json.Unmarshal(m.Data, &revision.Spec); err != nil {
		return err
	}
	h.Pipelines[key] = append(h.Pipelines[key], revision)
	return nil
}

func (h *History) addJoin(m message) error {
	_, present, err := m.entry()
	if err != nil || !present {
		return err
	}
	var join Join
	err = json.Unmarshal(m.Data, &join)
	h.Joins[Run{join.Pipeline, join.Run}.String()] = join
	return err
}

func (h *History) addGate(m message) error {
	key, present, err := m.entry()
	if err != nil || !present || strings.Contains(key, "/") {
		return err
	}
	var gate Gate
	err = json.Unmarshal(m.Data, &gate)
	h.Gates[key] = gate
	return err
}

func (h *History) addLease(m message) error {
	key, present, err := m.entry()
	if err != nil || !present {
		return err
	}
	var lease Lease
	err = json.Unmarshal(m.Data, &lease)
	h.Leases[key] = lease
	return err
}

func (h *History) addJob(m message) error {
	h.Jobs = append(h.Jobs, m.Subject)
	return nil
}

// addDeadLetter reads a dead letter, or the server's advisory that a message was terminated.
func (h *History) addDeadLetter(m message) error {
	var said struct {
		Message struct {
			Stream   string
			Sequence uint64
			Subject  string
			Body     []byte
		}
		Reason json.RawMessage
		Stream string `json:"stream"`
		Seq    uint64 `json:"stream_seq"`
	}
	if err := json.Unmarshal(m.Data, &said); err != nil {
		return err
	}
	deadLetter := DeadLetter{Stream: said.Message.Stream, Sequence: said.Message.Sequence, Subject: said.Message.Subject, Reason: string(said.Reason)}
	_ = json.Unmarshal(said.Message.Body, &deadLetter.Run) // what is no job names no run
	if said.Stream != "" {
		deadLetter = DeadLetter{Stream: said.Stream, Sequence: said.Seq, Reason: string(said.Reason), Advisory: true}
		at := slices.IndexFunc(h.Events, func(e Event) bool { return e.Sequence == said.Seq })
		if said.Stream == "EVENTS" && at >= 0 {
			deadLetter.Subject = h.Events[at].Subject
		}
	}
	h.DeadLetters = append(h.DeadLetters, deadLetter)
	return nil
}

// runOf reads pipeline and run from the subject of an event: events.<kind>.<pipeline>.<run>.<id>.
func runOf(subject string) Run {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 4 {
		return Run{}
	}
	run, err := url.PathUnescape(strings.ReplaceAll(strings.ReplaceAll(tokens[3], "%", "%25"), "=", "%"))
	if err != nil {
		run = tokens[3]
	}
	return Run{tokens[2], run}
}
