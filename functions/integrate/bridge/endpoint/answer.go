package endpoint

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/stoker-ml/stoker/events"
)

// problem is the answer to a request in the form of RFC 9457. With status 202 it has no body.
type problem struct {
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Detail string       `json:"detail"`
	Stored int          `json:"stored"`           // events of the request that are stored
	Errors []eventError `json:"errors,omitempty"` // one for each event that was not stored
}

// eventError is the reason why an event was not stored.
type eventError struct {
	Index  int    `json:"index"`           // in the batch, from 0
	ID     string `json:"id,omitempty"`    // of the event, if it could be read
	Field  string `json:"field,omitempty"` // attribute, or path below data
	Detail string `json:"detail"`
}

var busy = problem{Status: http.StatusServiceUnavailable, Detail: "too many requests are in progress: repeat this request later"}

func (p *problem) add(index int, f events.Event, err error) {
	failed := eventError{Index: index, ID: f.ID, Detail: err.Error()}
	if invalid, ok := errors.AsType[*events.Invalid](err); ok {
		failed.Field = invalid.Field
	}
	p.Errors = append(p.Errors, failed)
}

// problemOf returns the answer to a request that could not be read.
func problemOf(err error) problem {
	p := problem{Status: http.StatusBadRequest, Detail: err.Error()}
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	_, badFormat := errors.AsType[formatError](err)
	_, invalid := errors.AsType[*events.Invalid](err)
	switch {
	case tooLarge, errors.Is(err, errLongBatch):
		p.Status = http.StatusRequestEntityTooLarge
	case badFormat:
		p.Status = http.StatusUnsupportedMediaType
	case !invalid:
		p.Detail = "the body could not be read"
	}
	if invalid {
		p.add(0, events.Event{}, err)
	}
	return p
}

// answer writes the answer to a request.
func (e *Endpoint) answer(w http.ResponseWriter, r *http.Request, p problem) {
	if p.Status == http.StatusAccepted {
		w.WriteHeader(p.Status)
		return
	}
	e.logger.InfoContext(r.Context(), "request refused", "status", p.Status, "remote", r.RemoteAddr, "detail", p.Detail)
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	p.Title = http.StatusText(p.Status)
	body, err := json.Marshal(p)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}
