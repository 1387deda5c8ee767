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

// Marker is the body of a marker object, as JSON. All members are optional, and the body may be
// empty.
type Marker struct {
	Pipeline string `json:"pipeline"`
	Run      string `json:"run"`
	Force    bool   `json:"force"`

	Trace      string `json:"traceparent"` // in which the run continues: W3C Trace Context
	TraceState string `json:"tracestate"`

	// PipelineSpec is rejected: write access to a bucket must not permit choosing code.
	PipelineSpec json.RawMessage `json:"pipeline_spec"`

	// Data are the other members with a value: those of the data of one kind of event. Their
	// addresses may be relative to the marker's folder.
	Data map[string]json.RawMessage `json:"-"`
}

// membersOf returns the members that a marker of a kind may have, besides those that all markers
// may have.
func membersOf(kind events.Kind) []string {
	return slices.DeleteFunc(membersOfType(reflect.TypeOf(events.NewData(kind)).Elem()), func(name string) bool {
		return slices.Contains(markerMembers(), name) || slices.Contains(setByStoker, name)
	})
}

// setByStoker are members of data that only Stoker's own events have: with them, a marker would
// claim that a job made its artifact.
var setByStoker = []string{"cached", "execution", "generation", "job", "job_request", "reused", "salt"}

// markerMembers returns the members that all markers may have.
func markerMembers() []string { return membersOfType(reflect.TypeFor[Marker]()) }

// membersOfType returns the sorted names of the members that encoding/json decodes into a struct.
func membersOfType(of reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// says returns the kind that a marker's members imply; "" if the folder decides. If it names the
// artifacts of two kinds, it is of the kind that has all of its members, and, if none has, of the
// first kind whose artifact no other kind names.
func (m *Marker) says() events.Kind {
	var named []events.Kind
	for _, kind := range events.PublishedBy(events.ByBridge) {
		if marker := kind.Marker(); m.Data[marker.Member] != nil && !marker.Shared {
			named = append(named, kind)
		}
	}
	for _, kind := range named {
		if m.only(kind) == nil {
			return kind
		}
	}
	for _, kind := range named {
		if kindsWith(kind.Marker().Member) == 1 {
			return kind
		}
	}
	return ""
}

// kindsWith returns the number of kinds whose markers may have a member.
func kindsWith(member string) (n int) {
	for _, kind := range events.PublishedBy(events.ByBridge) {
		if slices.Contains(membersOf(kind), member) {
			n++
		}
	}
	return n
}

// only returns an error for members that have no meaning in a marker of a kind: they would be
// ignored.
func (m *Marker) only(kind events.Kind) error {
	known := membersOf(kind)
	for _, name := range slices.Sorted(maps.Keys(m.Data)) {
		if !slices.Contains(known, name) {
			return refused(&events.Invalid{
				Field: name, Expected: fmt.Sprintf("none of these in a marker for %s, which may have %s", kind, strings.Join(known, ", ")), Got: "one",
			})
		}
	}
	return nil
}

// set sets a member of the data.
func (m *Marker) set(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("member %s: %w", name, err)
	}
	if m.Data == nil {
		m.Data = map[string]json.RawMessage{}
	}
	m.Data[name] = text
	return nil
}

// data returns the data of the marker's event, with addresses below the marker's folder.
func (m *Marker) data(kind events.Kind, folder storage.Ref) (events.Data, error) {
	if err := m.only(kind); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m.Data)
	if err != nil {
		return nil, fmt.Errorf("members of a marker: %w", err)
	}
	data, _ := events.WithForce(events.NewData(kind), m.Force)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // of its artifacts: the members of the data are known
	if err := decoder.Decode(data); err != nil {
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return nil, refused(unknownMember(strings.Trim(name, `"`)))
		}
		return nil, refused(fmt.Errorf("expected an empty body or a JSON object: %w", inJSON(err)))
	}
	if located, ok := data.(events.MarkerData); ok {
		for _, address := range located.Addresses() {
			*address = within(folder, *address)
		}
	}
	return data, nil
}

// maxMarker, in bytes, keeps the event of a marker below the size limit of the bus.
const maxMarker = 512 << 10

// read returns the content of an uploaded marker, from its metadata and its body. It reads the body
// that the notification named, and no newer one: each of those has a notification of its own.
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
		if slices.Contains(inMetadata, name) {
			continue
		}
		if err := meantForBridge(name); err != nil {
			return Marker{}, refused(err)
		}
		// Set by other tools.
		b.log.WarnContext(ctx, "metadata of a marker ignored", "marker", u.at, "name", name)
	}
	return marker, marker.prefer(u.metadata)
}

func (b *Bridge) body(ctx context.Context, u upload) ([]byte, error) {
	body, object, err := b.store.Open(ctx, u.at, u.etag)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, refused(errors.New("it no longer exists: the object or its bucket was removed"))
	}
	if errors.Is(err, storage.ErrChanged) {
		return nil, refused(fmt.Errorf("it was overwritten after its notification with ETag %s, so that body is lost: upload it again", u.etag))
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

// parseMarker parses a marker's body. An unknown member is an error, since it would be ignored
// silently.
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
			Field: "pipeline_spec", Expected: "none: markers must not contain a pipeline; name an applied one", Got: "a pipeline",
		})
	}
	return marker, refused(marker.readData(body))
}

// isCommitters reports whether a body was written by Hadoop's committers, which Spark uses. It has
// no fields of an event.
func isCommitters(body []byte) bool {
	var success struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(body, &success) == nil && strings.HasPrefix(success.Name, "org.apache.hadoop.")
}

// readData reads the members of the body that not all markers have. It returns an *events.Invalid
// if one of them has no meaning in any marker.
func (m *Marker) readData(body []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return err
	}
	known := members()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case !slices.Contains(known, name):
			return unknownMember(name)
		case slices.Contains(markerMembers(), name) || isEmpty(all[name]):
			delete(all, name)
		}
	}
	m.Data = all
	return nil
}

func unknownMember(name string) error {
	return &events.Invalid{Field: name, Expected: "a member of markers: " + strings.Join(members(), ", "), Got: "another"}
}

// isEmpty reports whether a JSON value is null, or a text, a list or an object without content.
func isEmpty(value json.RawMessage) bool {
	var parsed any
	if json.Unmarshal(value, &parsed) != nil || parsed == nil {
		return parsed == nil
	}
	switch v := reflect.ValueOf(parsed); v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return false
	}
}

// members returns the names allowed in the body of a marker.
func members() (names []string) {
	for _, kind := range events.PublishedBy(events.ByBridge) {
		names = append(names, membersOf(kind)...)
	}
	names = append(names, markerMembers()...)
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "pipeline_spec" })
}

// inMetadata are the members that an object's metadata may have.
var inMetadata = []string{"pipeline", "run", "schema", "statistics", "traceparent", "tracestate"}

// prefer sets members from the object's metadata, which takes precedence over the body.
func (m *Marker) prefer(metadata map[string]string) error {
	fields := map[string]*string{"pipeline": &m.Pipeline, "run": &m.Run, "traceparent": &m.Trace, "tracestate": &m.TraceState}
	for _, name := range inMetadata {
		value := metadata[name]
		if value == "" {
			continue
		}
		if field := fields[name]; field != nil {
			*field = value
			continue
		}
		if err := m.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// refused marks an error that no retry can fix.
func refused(err error) error { return events.Fail(events.FailureInput, err) }
