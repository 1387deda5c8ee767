package module

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
}

// MessageType says what a message tells.
type MessageType string

// The types.
const (
	MessageProgress   MessageType = "progress"
	MessageCheckpoint MessageType = "checkpoint" // the files below working_dir are whole: another attempt may go on from them
	MessageDone       MessageType = "done"       // with the metrics that the model is known by
	MessageError      MessageType = "error"
)
