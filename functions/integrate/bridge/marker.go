package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Marker is what the body of a marker object may say, as JSON. All of it is optional, and an empty body says nothing. Addresses may be
// relative to the marker's folder. A marker is about one kind of event: with TransformGraph about transform.ready, with Hyperparameters
// about hparams.ready, else about what its folder holds.
type Marker struct {
	Pipeline string `json:"pipeline"`
	Run      string `json:"run"`
	Force    bool   `json:"force"`

	Examples   []events.Examples `json:"examples"`   // of examples.ready and transform.ready
	Schema     string            `json:"schema"`     // of examples.ready and transform.ready
	Statistics string            `json:"statistics"` // of examples.ready and transform.ready

	TransformGraph      string            `json:"transform_graph"`      // of transform.ready
	TransformedExamples []events.Examples `json:"transformed_examples"` // of transform.ready

	Hyperparameters string         `json:"hyperparameters"` // of hparams.ready
	Values          map[string]any `json:"values"`          // of hparams.ready
	Score           *float64       `json:"score"`           // of hparams.ready
	Objective       string         `json:"objective"`       // of hparams.ready
	Study           string         `json:"study"`           // of hparams.ready

	Trace      string `json:"traceparent"` // in which the run goes on: W3C Trace Context
	TraceState string `json:"tracestate"`

	// PipelineSpec is refused: a client who can write to a bucket must not choose code by it.
	PipelineSpec json.RawMessage `json:"pipeline_spec"`
}

// Kinds are those that markers are about.
func Kinds() []events.Kind {
	return []events.Kind{events.KindExamplesReady, events.KindTransformReady, events.KindHParamsReady}
}

// membersOf are the members that a marker of each kind may have besides those of all markers.
var membersOf = map[events.Kind][]string{
	events.KindExamplesReady:  {"examples", "schema", "statistics"},
	events.KindTransformReady: {"examples", "schema", "statistics", "transform_graph", "transformed_examples"},
	events.KindHParamsReady:   {"hyperparameters", "objective", "score", "study", "values"},
}

// set says which of the members that not all kinds have a marker has.
func (m *Marker) set() map[string]bool {
	return map[string]bool{
		"examples": len(m.Examples) > 0, "schema": m.Schema != "", "statistics": m.Statistics != "",
		"transform_graph": m.TransformGraph != "", "transformed_examples": len(m.TransformedExamples) > 0,
		"hyperparameters": m.Hyperparameters != "", "values": len(m.Values) > 0, "score": m.Score != nil, "objective": m.Objective != "", "study": m.Study != "",
	}
}

// says is the kind that a marker names by its members; "" if it leaves that to its folder.
func (m *Marker) says() events.Kind {
	switch {
	case m.TransformGraph != "":
		return events.KindTransformReady
	case m.Hyperparameters != "":
		return events.KindHParamsReady
	case len(m.Examples) > 0 && len(m.TransformedExamples) == 0:
		return events.KindExamplesReady
	}
	return ""
}

// only refuses members that mean nothing in a marker of a kind: they would be left out.
func (m *Marker) only(kind events.Kind) error {
	set := m.set()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] && !slices.Contains(membersOf[kind], name) {
			return refused(&events.Invalid{
				Field: name, Expected: fmt.Sprintf("none in a marker of %s, which may have %s", kind, strings.Join(membersOf[kind], ", ")), Got: "one",
			})
		}
	}
	return nil
}

// maxMarker keeps the event that a marker makes below what a bus takes. Bytes.
const maxMarker = 512 << 10

// read returns what an uploaded marker says, in its metadata or in its body. It reads the body that the notification named, and no newer one: each of
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
	for _, name := range slices.Sorted(maps.Keys(u.metadata)) {
		if marker.inMetadata()[name] != nil {
			continue
		}
		if err := meantForBridge(name); err != nil {
			return Marker{}, refused(err)
		}
		b.log.WarnContext(ctx, "metadata of a marker not used", "marker", u.at, "name", name) // tools leave some
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
		return nil, refused(fmt.Errorf("it was overwritten after its notification with ETag %s: that body is lost", u.etag))
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

// parseMarker reads a marker's body. A member that it does not know would be left out in silence, and is refused.
func parseMarker(body []byte) (Marker, error) {
	var marker Marker
	if len(bytes.TrimSpace(body)) == 0 || isCommitters(body) {
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
	return marker, refused(unknownMember(body))
}

// isCommitters reports whether a body is of Hadoop's committers, which Spark runs. Theirs says nothing about an event.
func isCommitters(body []byte) bool {
	var success struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(body, &success) == nil && strings.HasPrefix(success.Name, "org.apache.hadoop.")
}

// unknownMember returns an *events.Invalid if a body, which is a Marker otherwise, has a member that means nothing.
func unknownMember(body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(new(Marker))
	if err == nil {
		return nil
	}
	name := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
	return &events.Invalid{Field: name, Expected: "a member that markers have: " + strings.Join(members(), ", "), Got: "another"}
}

// members are the names that the body of a marker may have.
func members() (names []string) {
	marker := reflect.TypeFor[Marker]()
	for i := range marker.NumField() {
		if name := marker.Field(i).Tag.Get("json"); name != "pipeline_spec" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// prefer lets the object's metadata say it instead.
func (m *Marker) prefer(metadata map[string]string) {
	for name, field := range m.inMetadata() {
		if value := metadata[name]; value != "" {
			*field = value
		}
	}
}

// inMetadata are the members that an object's metadata may say.
func (m *Marker) inMetadata() map[string]*string {
	return map[string]*string{
		"pipeline": &m.Pipeline, "run": &m.Run, "schema": &m.Schema, "statistics": &m.Statistics,
		"traceparent": &m.Trace, "tracestate": &m.TraceState,
	}
}

// refused marks what no retry mends.
func refused(err error) error { return events.Fail(events.FailureInput, err) }
