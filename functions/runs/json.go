package runs

import (
	"encoding/json"

	"github.com/stoker-ml/stoker/events"
)

// JSON is an event as a structured CloudEvent, for printing.
func JSON(event events.Event) json.RawMessage {
	_, body, err := events.EncodeStructured(event)
	if err != nil {
		body, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return body
}
