package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Marker is what the body of a marker object may say, as JSON. All of it is optional, and an empty body says nothing.
type Marker struct {
	Pipeline   string            `json:"pipeline"`
	Run        string            `json:"run"`
	Examples   []events.Examples `json:"examples"`   // URIs may be relative to the marker's folder
	Schema     string            `json:"schema"`     // may be relative too
	Statistics string            `json:"statistics"` // may be relative too
	Force      bool              `json:"force"`

	Trace      string `json:"traceparent"` // in which the run goes on: W3C Trace Context
	TraceState string `json:"tracestate"`

	// PipelineSpec is refused: who may write to a bucket must not choose code by it.
	PipelineSpec json.RawMessage `json:"pipeline_spec"`
}

// maxMarker keeps the fact that a marker makes below what a bus takes. Bytes.
const maxMarker = 512 << 10

// read returns what an uploaded marker says, in its metadata or in its body. It reads the body that was told of, and no newer one: each of
// those has a notice of its own.
func (b *Bridge) read(ctx context.Context, u upload) (Marker, error) {
	body, err := b.body(ctx, u)
	if err != nil {
		return Marker{}, err
	}
	marker, err := parseMarker(body)
	if err != nil {
		return Marker{}, err
	}
	marker.prefer(u.metadata)
	return marker, nil
}

func (b *Bridge) body(ctx context.Context, u upload) ([]byte, error) {
	body, object, err := b.store.Open(ctx, u.at, u.etag)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, refused(errors.New("it is gone: whoever wrote it has removed it, or its bucket"))
	}
	if errors.Is(err, storage.ErrChanged) {
		return nil, refused(fmt.Errorf("it was overwritten since it was told with ETag %s: what it said then is lost", u.etag))
	}
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer body.Close()
	if object.Size > maxMarker {
		return nil, refused(fmt.Errorf("expected a body of at most %d bytes, got %d", maxMarker, object.Size))
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return text, nil
}

func parseMarker(body []byte) (Marker, error) {
	var marker Marker
	if len(bytes.TrimSpace(body)) == 0 {
		return marker, nil
	}
	if err := json.Unmarshal(body, &marker); err != nil {
		return Marker{}, refused(fmt.Errorf("expected an empty body or a JSON object: %w", inJSON(err)))
	}
	if len(marker.PipelineSpec) > 0 {
		return Marker{}, refused(&events.Invalid{
			Field: "pipeline_spec", Expected: "none: a bucket can't bring code; name an applied pipeline", Got: "a pipeline",
		})
	}
	return marker, nil
}

// prefer lets the object's metadata say it instead.
func (m *Marker) prefer(metadata map[string]string) {
	for name, field := range map[string]*string{
		"pipeline": &m.Pipeline, "run": &m.Run, "schema": &m.Schema, "statistics": &m.Statistics,
		"traceparent": &m.Trace, "tracestate": &m.TraceState,
	} {
		if value := metadata[name]; value != "" {
			*field = value
		}
	}
}

// refused marks what no retry mends.
func refused(err error) error { return events.Fail(events.FailureInput, err) }
