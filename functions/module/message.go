package module

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
)

// MaxMessageBytes bounds one line on the progress descriptor, its newline included.
const MaxMessageBytes = 64 << 10

// Message is one line a module writes on its progress descriptor.
type Message struct {
	Type    MessageType        `json:"type"`
	Phase   string             `json:"phase,omitempty"`
	Step    int                `json:"step,omitempty"`
	Steps   int                `json:"steps,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Error   *Error             `json:"error,omitempty"`

	// All is for modules that do not know of checkpoints, and are only taken to have some. The files below model_run_dir belong
	// to such a one too, and lie there again as those below working_dir do; and as any file may be written to in place
	// meanwhile, a copy is taken only when none is.
	All bool `json:"all,omitempty"`

	// Settled is, of a checkpoint of All, for a moment at which files may be being written: only what is whole is kept, if that is
	// something new. It is for the worker to find out which files these are.
	Settled bool `json:"settled,omitempty"`

	// Over is, of a Settled checkpoint, that the module's process has ended. Modules don't send it.
	Over bool `json:"-"`

	// Study is, of a "study", what a tune is to search for and how: a tune.Config, as JSON.
	Study json.RawMessage `json:"study,omitempty"`

	// Answer is, of an "answer", what a check has found, as JSON.
	Answer json.RawMessage `json:"answer,omitempty"`

	// Unwritten are, of a "done", formats that were asked for and that the model can't be written in, with the reason of each. It is for
	// the worker to say whether the job can do without.
	Unwritten map[string]string `json:"unwritten,omitempty"`

	// Settings are, of a "settings", what a training uses, defaults included: a JSON object. The last message counts.
	Settings json.RawMessage `json:"settings,omitempty"`

	// Device is, of a "done", what the module trained on: DeviceGPU, DeviceCPU or "" where it doesn't say.
	Device string `json:"device,omitempty"`
}

// Devices that a module trains on.
const (
	DeviceCPU = "cpu"
	DeviceGPU = "gpu"
)

// MessageType is the type of a message.
type MessageType string

// The types.
const (
	MessageProgress   MessageType = "progress"
	MessageCheckpoint MessageType = "checkpoint" // the files below working_dir are whole: another attempt may go on from them; see All
	MessageDone       MessageType = "done"       // with the metrics that the model is known by
	MessageError      MessageType = "error"
	MessageSettings   MessageType = "settings" // of a training; see Message.Settings
	MessageAnswer     MessageType = "answer"   // of a check
	MessageStudy      MessageType = "study"    // of a tune: its trials are the worker's to have made, one assignment each
)

// Error is how a module says what went wrong before it leaves. A function that returns one, or wraps one, chooses its kind.
type Error struct {
	Kind    ErrorKind `json:"kind"`
	Message string    `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrorKind says whose fault an error is.
type ErrorKind string

// The kinds.
const (
	KindInput     ErrorKind = "input"     // the data is bad: no retry helps
	KindHost      ErrorKind = "host"      // the machine is to blame, its disk is full: another one may do better, without limit
	KindResources ErrorKind = "resources" // memory ran out, of the machine or of its GPU
	KindModule    ErrorKind = "module"    // all else
)

// BadInput marks err as the data's fault; nil stays nil.
func BadInput(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindInput, Message: err.Error()}
}

// asError is err as the worker gets it: all of its text, shortened to fit a message, and its kind.
func asError(err error) *Error {
	out := &Error{Kind: kindOf(err), Message: err.Error()}
	const limit = MaxMessageBytes / 8 // a byte takes at most 6 in JSON
	if len(out.Message) > limit {
		out.Message = strings.ToValidUTF8(out.Message[:limit], "")
	}
	return out
}

// kindOf is the kind that err chose, else what is plain from the error itself: a full disk is no fault of the module's.
func kindOf(err error) ErrorKind {
	if chosen, ok := errors.AsType[*Error](err); ok {
		return chosen.Kind
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return KindHost
	}
	return KindModule
}
