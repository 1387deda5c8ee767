package module

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
)

// MaxMessageBytes limits one line on the progress descriptor, its newline included.
const MaxMessageBytes = 64 << 10

// Message is one line that a module writes on its progress descriptor.
type Message struct {
	Type    MessageType        `json:"type"`
	Phase   string             `json:"phase,omitempty"`
	Step    int                `json:"step,omitempty"`
	Steps   int                `json:"steps,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Error   *Error             `json:"error,omitempty"`

	// All marks a checkpoint of a module that does not support checkpoints itself. It includes the
	// files below model_run_dir, which are restored like those below working_dir. As such a module
	// may write to any file in place at any time, a copy is taken only while no file is written.
	All bool `json:"all,omitempty"`

	// Settled marks a checkpoint of All at a moment at which files may be being written: only
	// complete files are kept, and only if something is new. The worker finds out which files these
	// are.
	Settled bool `json:"settled,omitempty"`

	// Over is true of a Settled checkpoint if the module's process has ended. Modules don't send
	// it.
	Over bool `json:"-"`

	// Study is, in a "study", the search of a tune: a tune.Config, as JSON.
	Study json.RawMessage `json:"study,omitempty"`

	// Answer is, in an "answer", the result of a check, as JSON.
	Answer json.RawMessage `json:"answer,omitempty"`

	// Unwritten maps, in a "done", each requested format in which the model can't be written to the
	// reason. The worker decides whether the job can do without it.
	Unwritten map[string]string `json:"unwritten,omitempty"`

	// Settings are, in a "settings", what a training uses, defaults included: a JSON object. The
	// last message counts.
	Settings json.RawMessage `json:"settings,omitempty"`

	// Device is, in a "done", the device that the module trained on: DeviceGPU, DeviceCPU, or "" if
	// it is not reported.
	Device string `json:"device,omitempty"`
}

// Devices on which a module trains.
const (
	DeviceCPU = "cpu"
	DeviceGPU = "gpu"
)

// MessageType is the type of a message.
type MessageType string

// The types.
const (
	MessageProgress MessageType = "progress"
	// The files below working_dir are complete: another attempt may resume from them; see All.
	MessageCheckpoint MessageType = "checkpoint"
	MessageDone       MessageType = "done" // with the metrics of the model
	MessageError      MessageType = "error"
	MessageSettings   MessageType = "settings" // of a training; see Message.Settings
	MessageAnswer     MessageType = "answer"   // of a check
	// Of a tune: the worker runs its trials, one assignment each.
	MessageStudy MessageType = "study"
)

// Error is how a module reports a failure before it exits. A function chooses the kind by returning
// an Error or wrapping one.
type Error struct {
	Kind    ErrorKind `json:"kind"`
	Message string    `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrorKind is the cause of an error.
type ErrorKind string

// The kinds.
const (
	KindInput ErrorKind = "input" // the data is bad: no retry helps
	// The machine is to blame, for example a full disk: retried without limit, on another machine.
	KindHost      ErrorKind = "host"
	KindResources ErrorKind = "resources" // out of memory, of the machine or of its GPU
	KindModule    ErrorKind = "module"    // everything else
)

// BadInput marks err as caused by the data; nil stays nil.
func BadInput(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindInput, Message: err.Error()}
}

// asError returns err as the worker gets it: its kind, and its text, shortened to fit a message.
func asError(err error) *Error {
	out := &Error{Kind: kindOf(err), Message: err.Error()}
	const limit = MaxMessageBytes / 8 // a byte takes at most 6 in JSON
	if len(out.Message) > limit {
		out.Message = strings.ToValidUTF8(out.Message[:limit], "")
	}
	return out
}

// kindOf returns the kind that err chose, else one that is plain from the error itself: a full disk
// is not the module's fault.
func kindOf(err error) ErrorKind {
	if chosen, ok := errors.AsType[*Error](err); ok {
		return chosen.Kind
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return KindHost
	}
	return KindModule
}
