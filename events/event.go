package events

import "time"

// Event is a CloudEvent that says what has happened, parsed once, where it comes in. A Event that came out of this package's
// decoders is valid; one that a program fills in is checked by Validate before it is published. Events are never changed.
type Event struct {
	ID       string    // unique with Source; equal ones are the same event published twice
	Source   string    // URI reference of the publisher
	Pipeline string    // CloudEvents subject
	Run      string    // extension "run": the key on which events are joined
	Time     time.Time // when it happened, as the source says; zero if it does not

	Causation  string // extension "causationid": the event that led here, "" for upstream's own
	Trace      string // extension "traceparent" (W3C), "" if none
	TraceState string // extension "tracestate" (W3C), "" if there is none that headers carry unchanged

	// Extensions are the extension attributes that mean nothing to Stoker, by name; nil if there are none. They are carried along where an
	// event is written again.
	Extensions map[string]string

	Data Data
}

// Validate says what is wrong with f: an *Invalid naming the CloudEvents attribute or the path below data. What CloudEvents
// allows is allowed; Encode is stricter with what Stoker itself writes.
func (f Event) Validate() error {
	if f.Data == nil {
		return invalid("data", "the data of the event", "")
	}
	return first(
		checkText("id", f.ID, maxID),
		checkText("source", f.Source, maxSource),
		CheckName("subject", f.Pipeline),
		CheckRun("run", f.Run),
		optionalText("causationid", f.Causation, maxID),
		optionalText("traceparent", f.Trace, maxID),
		checkExtensions(f.Extensions),
		below("data", f.Data.Validate()),
	)
}

// plain says what in f other CloudEvents implementations might not carry unchanged. sdk-go doesn't decode percent-encoding
// and sends % bare; so our own attributes need none. The run key is the publisher's to choose, and is encoded.
func (f Event) plain() error {
	return first(
		checkPlain("id", f.ID, maxID),
		checkPlain("source", f.Source, maxSource),
		optionalPlain("causationid", f.Causation, maxID),
		optionalPlain("traceparent", f.Trace, maxID),
		optionalPlain("tracestate", f.TraceState, maxTraceState),
	)
}

func optionalText(field, text string, maxBytes int) error {
	if text == "" {
		return nil
	}
	return checkText(field, text, maxBytes)
}
