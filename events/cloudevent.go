package events

import (
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
)

// CloudEvent returns f as the type of the CloudEvents SDK, for programs that go on with that.
func (f Fact) CloudEvent() (event.Event, error) {
	sealed, err := f.seal()
	if err != nil {
		return event.Event{}, err
	}
	out := event.New(specVersion)
	out.SetID(f.ID)
	out.SetSource(f.Source)
	out.SetType(f.Data.Kind().Type())
	out.SetSubject(f.Pipeline)
	if !f.Time.IsZero() {
		out.SetTime(f.Time)
	}
	for _, name := range []string{"run", "causationid", "traceparent", "tracestate"} {
		if value := sealed.attributes[name]; value != "" {
			out.SetExtension(name, value)
		}
	}
	if err := out.SetData(event.ApplicationJSON, sealed.data); err != nil {
		return event.Event{}, fmt.Errorf("set data of fact %s: %w", f.ID, err)
	}
	return out, nil
}

// FromCloudEvent reads a fact from the type of the CloudEvents SDK. What is wrong is an *Invalid.
func FromCloudEvent(e event.Event) (Fact, error) {
	if e.Context == nil {
		return Fact{}, invalid("specversion", specVersion, "")
	}
	attributes := map[string]string{
		"specversion":     e.SpecVersion(),
		"type":            e.Type(),
		"id":              e.ID(),
		"source":          e.Source(),
		"subject":         e.Subject(),
		"datacontenttype": e.DataContentType(),
	}
	if !e.Time().IsZero() {
		attributes["time"] = types.FormatTime(e.Time())
	}
	for name, value := range e.Extensions() {
		text, err := types.Format(value)
		if err != nil {
			return Fact{}, invalid(name, "a string", fmt.Sprint(value))
		}
		attributes[name] = text
	}
	return envelope{attributes: attributes, data: e.Data()}.fact()
}
