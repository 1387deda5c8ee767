package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/cloudevents/sdk-go/v2/binding"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/stoker-ml/stoker/events"
)

// candidate is one event of a request, or the reason why it is invalid.
type candidate struct {
	event events.Event
	err   error
}

const eventPrefix = "Ce-"

// read returns the events of a request in any content mode. An error is one of the request as a
// whole.
func read(w http.ResponseWriter, r *http.Request) ([]candidate, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		return nil, err
	}
	header, err := eventHeader(r.Header)
	if err != nil {
		return nil, err
	}
	m := cehttp.NewMessage(header, io.NopCloser(bytes.NewReader(body)))
	if m.ReadEncoding() == binding.EncodingBatch {
		return readBatch(r.Header, body)
	}
	if media := mediaOf(header); m.ReadEncoding() == binding.EncodingUnknown {
		return nil, unknownEncoding(header, media)
	}
	received, err := events.DecodeMessage(m)
	return []candidate{traced(received, err, r.Header)}, nil
}

// eventHeader returns the header for the SDK, which panics on a header named "ce-", and uses the
// first of several values.
func eventHeader(from http.Header) (http.Header, error) {
	header := from.Clone()
	for name, values := range header {
		if attribute, ok := strings.CutPrefix(name, eventPrefix); ok && len(values) > 1 {
			return nil, &events.Invalid{Field: strings.ToLower(attribute), Expected: "one header " + name, Got: fmt.Sprint(len(values))}
		}
	}
	delete(header, eventPrefix)
	return header, nil
}

// readBatch reads the events one at a time, so that an error gives the index of an invalid one.
func readBatch(header http.Header, body []byte) ([]candidate, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return nil, &events.Invalid{Field: "batch", Expected: "a JSON list of events"}
	}
	var all []candidate
	for decoder.More() {
		if len(all) == MaxBatch {
			return nil, errLongBatch
		}
		var one json.RawMessage
		if err := decoder.Decode(&one); err != nil {
			return nil, &events.Invalid{Field: "batch", Expected: "a JSON list of events", Got: err.Error()}
		}
		received, err := events.Decode(nil, one)
		all = append(all, traced(received, err, header))
	}
	if _, err := decoder.Token(); err != nil {
		return nil, &events.Invalid{Field: "batch", Expected: "a JSON list of events", Got: err.Error()}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, &events.Invalid{Field: "batch", Expected: "one JSON list of events", Got: "more behind it"}
	}
	return all, nil
}

var errLongBatch = fmt.Errorf("expected at most %d events in a batch", MaxBatch)

// traced gives an event without a trace the one of its request (W3C Trace Context).
func traced(received events.Event, err error, header http.Header) candidate {
	if err == nil && received.Trace == "" {
		withTrace := received
		withTrace.Trace, withTrace.TraceState = header.Get("traceparent"), header.Get("tracestate")
		if _, bad := withTrace.CloudEvent(); bad == nil {
			received = withTrace
		}
	}
	return candidate{received, err}
}

func mediaOf(header http.Header) string {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(header.Get("Content-Type"))
	}
	return media
}

// formatError means that the event format is not supported.
type formatError struct{ *events.Invalid }

func (e formatError) Unwrap() error { return e.Invalid }

// unknownEncoding returns the error for a request whose header is not that of an event: which
// header is missing.
func unknownEncoding(header http.Header, media string) error {
	const modes = cloudevents.ApplicationCloudEventsJSON + ", " + cloudevents.ApplicationCloudEventsBatchJSON + ", or headers ce-specversion, ce-id and so on"
	version := header.Get("ce-specversion")
	switch {
	case strings.HasPrefix(media, "application/cloudevents"):
		return formatError{&events.Invalid{Field: "Content-Type", Expected: modes, Got: media}}
	case version != "":
		return &events.Invalid{Field: "specversion", Expected: cloudevents.CloudEventsVersionV1, Got: fmt.Sprintf("%.20q", version)}
	}
	return &events.Invalid{Field: "specversion", Expected: "an event: content type " + modes}
}
