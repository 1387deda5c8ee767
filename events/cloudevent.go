package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/binding/format"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
)

const specVersion = cloudevents.CloudEventsVersionV1

// CloudEvent returns f as the type of the CloudEvents SDK: the form written to a bus, and for
// programs that use that type. Like Encode, it is stricter than Validate.
func (f Event) CloudEvent() (cloudevents.Event, error) {
	if err := first(f.Validate(), f.plain()); err != nil {
		return cloudevents.Event{}, err
	}
	e, err := f.cloudEvent()
	if err == nil && e.Source() != f.Source {
		err = invalid("source", "a URI reference in its normal form, "+e.Source(), f.Source)
	}
	return e, err
}

// JSON returns the event as a CloudEvent in the JSON format (CloudEvents JSON format 1.0), for
// transports other than NATS, like structured mode of the HTTP binding. It accepts any valid event,
// including those of foreign publishers.
func (f Event) JSON() ([]byte, error) {
	e, err := f.cloudEvent()
	if err != nil {
		return nil, err
	}
	body, err := format.JSON.Marshal(&e)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", f.ID, err)
	}
	return body, nil
}

// StructuredType is the media type of JSON.
const StructuredType = structuredType

// cloudEvent converts f without further checks. Empty attributes are left out.
func (f Event) cloudEvent() (cloudevents.Event, error) {
	data, err := json.Marshal(f.Data)
	if err != nil {
		return cloudevents.Event{}, fmt.Errorf("encode data of event %s: %w", f.ID, err)
	}
	attributes := maps.Clone(f.Extensions)
	if attributes == nil {
		attributes = map[string]string{}
	}
	maps.Copy(attributes, map[string]string{
		"specversion":     specVersion,
		"type":            f.Data.Kind().Type(),
		"id":              f.ID,
		"source":          f.Source,
		"subject":         f.Pipeline,
		"run":             f.Run,
		"causationid":     f.Causation,
		"traceparent":     f.Trace,
		"tracestate":      f.TraceState,
		"datacontenttype": cloudevents.ApplicationJSON,
	})
	if !f.Time.IsZero() {
		attributes["time"] = types.FormatTime(f.Time)
	}
	return (&eventWriter{attributes: attributes, data: data}).event()
}

// event returns the collected event in the SDK's type. Its fields are set directly, because the
// SDK's setters trim spaces, and two ids that differ by a space are two events. A dataschema is not
// read: the type implies the schema.
func (w *eventWriter) event() (cloudevents.Event, error) {
	if version := w.attributes["specversion"]; version != specVersion {
		return cloudevents.Event{}, invalid("specversion", specVersion, version)
	}
	context := &cloudevents.EventContextV1{
		ID:              w.attributes["id"],
		Type:            w.attributes["type"],
		Subject:         optional(w.attributes["subject"]),
		DataContentType: optional(w.attributes["datacontenttype"]),
	}
	if source := w.attributes["source"]; source != "" {
		parsed := types.ParseURIRef(source)
		if parsed == nil {
			return cloudevents.Event{}, invalid("source", "a URI reference", source)
		}
		context.Source = *parsed
	}
	if text := w.attributes["time"]; text != "" {
		at, err := types.ParseTime(text)
		if err != nil {
			return cloudevents.Event{}, invalid("time", "a timestamp of RFC 3339", text)
		}
		context.Time = &types.Timestamp{Time: at}
	}
	if err := w.extend(context); err != nil {
		return cloudevents.Event{}, err
	}
	return cloudevents.Event{Context: context, DataEncoded: w.data}, nil
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// extend sets an extension attribute. It returns an error for an invalid name.
func (w *eventWriter) extend(context *cloudevents.EventContextV1) error {
	for name, value := range w.attributes {
		if value == "" || isAttribute(name) || !extensionRE.MatchString(name) {
			continue
		}
		if err := context.SetExtension(name, value); err != nil {
			return invalid(name, "an extension attribute", err.Error())
		}
	}
	return nil
}

// isAttribute reports whether a name is an attribute of CloudEvents itself.
func isAttribute(name string) bool {
	if name == "data" {
		return true
	}
	for _, attribute := range attributes {
		if attribute.Name() == name {
			return true
		}
	}
	return false
}

// FromCloudEvent reads an event from the type of the CloudEvents SDK. The error for an invalid
// event is an *Invalid that names the attribute, or the path below data.
func FromCloudEvent(e cloudevents.Event) (Event, error) {
	kind, err := kindOf(e)
	if err != nil {
		return Event{}, err
	}
	event := Event{ID: e.ID(), Source: e.Source(), Pipeline: e.Subject(), Time: e.Time(), Data: NewData(kind)}
	if err := event.readExtensions(e.Extensions()); err != nil {
		return Event{}, err
	}
	if len(e.Data()) == 0 || string(e.Data()) == "null" {
		return Event{}, invalid("data", "the data of the event", "")
	}
	if err := unmarshal("data", e.Data(), event.Data); err != nil {
		return Event{}, err
	}
	return event, first(event.Validate(), validation(e))
}

// kindOf checks what must be valid before the data can be read.
func kindOf(e cloudevents.Event) (Kind, error) {
	if e.Context == nil {
		return "", invalid("specversion", specVersion, "")
	}
	if version := e.SpecVersion(); version != specVersion {
		return "", invalid("specversion", specVersion, version)
	}
	if contentType := e.DataContentType(); !isJSON(contentType) {
		return "", invalid("datacontenttype", "application/json", contentType)
	}
	return KindOf(e.Type())
}

func (f *Event) readExtensions(extensions map[string]any) error {
	known := map[string]*string{"run": &f.Run, "causationid": &f.Causation, "traceparent": &f.Trace, "tracestate": &f.TraceState}
	for name, value := range extensions {
		text, err := types.Format(value)
		switch field := known[name]; {
		case err != nil:
			return invalid(name, "a string", fmt.Sprint(value))
		case field != nil:
			*field = text
		case f.Extensions == nil:
			f.Extensions = map[string]string{name: text}
		default:
			f.Extensions[name] = text
		}
	}
	f.TraceState = traceState(f.TraceState)
	return nil
}

// validation runs the SDK's own checks, which report all bad attributes, and returns the first by
// name.
func validation(e cloudevents.Event) error {
	bad, ok := errors.AsType[cloudevents.ValidationError](e.Validate())
	if !ok || len(bad) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(bad)))
	return &Invalid{Field: name, Expected: "a value that CloudEvents 1.0 permits", Got: bad[name].Error()}
}

var extensionRE = regexp.MustCompile(`^[a-z0-9]+$`)

// checkExtensions returns an error for extensions that not every CloudEvents implementation can
// carry. A name in the error may be long.
func checkExtensions(extensions map[string]string) error {
	if len(extensions) > maxExtensions {
		return invalid("extensions", fmt.Sprintf("at most %d extension attributes", maxExtensions), fmt.Sprint(len(extensions)))
	}
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		if len(name) > maxName || !extensionRE.MatchString(name) || isAttribute(name) || slices.Contains(ownExtensions, name) {
			return invalid("extensions", fmt.Sprintf("names of 1 to %d characters of a-z and 0-9 that CloudEvents and Stoker do not define", maxName), name)
		}
		if err := checkText(name, extensions[name], maxExtension); err != nil {
			return err
		}
	}
	return nil
}

// ownExtensions have their own fields in an Event.
var ownExtensions = []string{"run", "causationid", "traceparent", "tracestate"}

// isJSON reports whether a media type means JSON. CloudEvents' default is JSON.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json"))
}
