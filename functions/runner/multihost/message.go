package multihost

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// Command is what a leader sends to its members about a job.
type Command struct {
	Job       events.Job     `json:"job"`
	Attempt   events.Attempt `json:"attempt"`
	Execution string         `json:"execution"` // that the leader knows the job by: sha256:<hex>
}

// message is one line on a link.
type message struct {
	Type      kind       `json:"type"`
	Round     int        `json:"round,omitempty"` // which of the leader's; what is said of an earlier one is heard no more
	Handshake *handshake `json:"handshake,omitempty"`
	Command   *Command   `json:"command,omitempty"`
	From      string     `json:"from,omitempty"` // of ready: what the host goes on from
	Text      string     `json:"text,omitempty"` // of log and of refused
	Error     *failure   `json:"error,omitempty"`
}

// kind is what a message says.
type kind string

const (
	sayHandshake kind = "handshake" // member: who it is
	sayReady     kind = "ready"     // member: all is staged
	sayLog       kind = "log"       // member: whole lines of its module's log
	sayOver      kind = "over"      // member: the order is behind it, with the error it had, if any
	sayWelcome   kind = "welcome"   // leader: the member belongs here
	sayRefused   kind = "refused"   // leader: it doesn't, and why
	sayCommand   kind = "command"   // leader: prepare
	sayGo        kind = "go"        // leader: all are ready
	sayEnd       kind = "end"       // leader: the order is over
	sayLeave     kind = "leave"     // leader: there is nothing more to do
	sayPing      kind = "ping"      // both: still here
)

// protocol is the version of what is said on a link.
const protocol = 1

// hello is who a member is, and what it takes the group for.
type handshake struct {
	Protocol int      `json:"protocol"`
	Rank     int      `json:"rank"`
	Hosts    []string `json:"hosts"`
}

// failure is an events.Failure on its way.
type failure struct {
	Kind    events.FailureKind `json:"kind"`
	Message string             `json:"message"`
	LogTail string             `json:"log_tail,omitempty"`
}

// parse reads one line of a link.
func parse(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("a line that is no message: %w", err)
	}
	switch {
	case m.Type == sayHandshake && m.Handshake == nil:
		return message{}, fmt.Errorf("a hello of nobody")
	case m.Type == sayCommand && m.Command == nil:
		return message{}, fmt.Errorf("an order of nothing")
	}
	return m, nil
}
