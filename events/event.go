package events

import "time"

// Event is a CloudEvent that says what has happened. It is parsed once, where it is received. An
// Event returned by this package's decoders is valid; one made by a program is checked by Validate
// before it is published. Events are never modified.
type Event struct {
	ID       string    // unique with Source; equal ones are the same event, published twice
	Source   string    // URI reference of the publisher
	Pipeline string    // CloudEvents subject
	Run      string    // extension "run": the key on which events are joined
	Time     time.Time // when it happened, according to the source; zero if unknown

	// Extension "causationid": the event that led to this one, "" for those of upstream.
	Causation string
	Trace     string // extension "traceparent" (W3C), "" if none
	// Extension "tracestate" (W3C), "" if there is none that headers carry unchanged.
	TraceState string

	// Extensions are the extension attributes without a meaning in Stoker, by name; nil if there
	// are none. They are kept when an event is written again.
	Extensions map[string]string

	Data Data
}

// Validate returns an *Invalid that names the CloudEvents attribute or the path below data.
// Everything that CloudEvents allows is valid; Encode is stricter for what Stoker itself writes.
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

// plain returns an error for values that other CloudEvents implementations might not carry
// unchanged. sdk-go doesn't decode percent-encoding and sends % unescaped, so Stoker's own
// attributes must need none. The run key is chosen by the publisher, and is encoded.
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
