package multihost

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// How a host that is gone without a message is noticed.
const (
	heartbeat = 5 * time.Second  // between two pings
	silence   = 20 * time.Second // after which the other end is gone
)

// lineBytes bounds a message: the largest is a command, with the pipeline's file in it.
const lineBytes = 16 << 20

// link is a connection between a leader and a member. Several goroutines may send.
type link struct {
	conn  net.Conn
	lines *bufio.Scanner

	mu sync.Mutex // of writing
}

func newLink(conn net.Conn) *link {
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, lineBytes)
	return &link{conn: conn, lines: lines}
}

// send sends a message. If that fails it closes the link, which its reader notices.
func (l *link) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(silence))
	if _, err := l.conn.Write(append(line, '\n')); err != nil {
		_ = l.conn.Close()
		return err
	}
	return nil
}

// next waits for the next message that is no ping.
func (l *link) next() (message, error) {
	for {
		_ = l.conn.SetReadDeadline(time.Now().Add(silence))
		if !l.lines.Scan() {
			return message{}, ended(l.lines.Err())
		}
		if m, err := parse(l.lines.Bytes()); err != nil || m.Type != typePing {
			return m, err
		}
	}
}

// ended describes how a link ended.
func ended(err error) error {
	switch {
	case err == nil:
		return io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no message for %s", silence)
	}
	return err
}

// ping shows the other end that this one is alive, until ctx or the link ends.
func (l *link) ping(ctx context.Context) {
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beats.C:
			if l.send(message{Type: typePing}) != nil {
				return
			}
		}
	}
}

func (l *link) close() { _ = l.conn.Close() }

// Command is what a leader sends to its members about a job.
type Command struct {
	Job       events.Job     `json:"job"`
	Attempt   events.Attempt `json:"attempt"`
	Execution string         `json:"execution"` // by which the leader knows the job: sha256:<hex>
}

// message is one line on a link.
type message struct {
	Type kind `json:"type"`
	// the leader's; messages of an earlier one are ignored
	Round     int        `json:"round,omitempty"`
	Handshake *handshake `json:"handshake,omitempty"`
	Command   *Command   `json:"command,omitempty"`
	From      string     `json:"from,omitempty"` // of ready: the checkpoint that the host resumes from
	Text      string     `json:"text,omitempty"` // of log and of refused
	Error     *failure   `json:"error,omitempty"`
}

// kind is the type of a message.
type kind string

const (
	typeHandshake kind = "handshake" // member: who it is
	typeReady     kind = "ready"     // member: everything is staged
	typeLog       kind = "log"       // member: whole lines of its module's log
	// member: its part of the round has ended, with the error that it had, if any
	typeOver    kind = "over"
	typeWelcome kind = "welcome" // leader: the member belongs to the group
	typeRefused kind = "refused" // leader: it doesn't, and why
	typeCommand kind = "command" // leader: prepare
	typeGo      kind = "go"      // leader: all are ready
	typeEnd     kind = "end"     // leader: the round is over
	typeLeave   kind = "leave"   // leader: there is nothing more to do
	typePing    kind = "ping"    // both: still alive
)

// protocol is the version of the messages.
const protocol = 1

// handshake is who a member is, and the group that it expects.
type handshake struct {
	Protocol int      `json:"protocol"`
	Rank     int      `json:"rank"`
	Hosts    []string `json:"hosts"`
}

// failure is an events.Failure in a message.
type failure struct {
	Kind    events.FailureKind `json:"kind"`
	Message string             `json:"message"`
	LogTail string             `json:"log_tail,omitempty"`
}

// parse parses one line of a link.
func parse(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("parse message: %w", err)
	}
	switch {
	case m.Type == typeHandshake && m.Handshake == nil:
		return message{}, fmt.Errorf("handshake without data")
	case m.Type == typeCommand && m.Command == nil:
		return message{}, fmt.Errorf("command without data")
	}
	return m, nil
}

// errToken is the error on both ends of a link with a host that doesn't know the token.
var errToken = errors.New("it does not know the group's token")

// secured returns a configuration of TLS 1.3 in which both ends prove that they know the token, by
// a key that is derived from it (HKDF-SHA256 to Ed25519). There are no names and no authority: a
// host with the key belongs to the group.
func secured(token string) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, []byte(token), nil, "stoker hosts 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the group's key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	certificate, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the group's certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		ClientAuth:   tls.RequireAnyClientCert,
		// instead of names and authorities, VerifyConnection requires this key
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if theirs, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); !ok || !theirs.Equal(key.Public()) {
				return errToken
			}
			return nil
		},
	}, nil
}
