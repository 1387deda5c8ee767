package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// request is a message that a client sent to the server: what it published, asked for, or
// acknowledged.
type request struct {
	subject string
	answer  bool        // it waits for an answer
	header  nats.Header // nil: none
	body    []byte
}

// requestKind is what a request costs the server.
type requestKind int

const (
	writeRequest requestKind = iota // is stored in a stream, a KV bucket's among them
	ackRequest                      // acknowledges a delivered message
	pullRequest                     // asks a consumer for the next message
	readRequest                     // all other questions to JetStream
	plainRequest                    // no business of JetStream's: progress
)

func (r request) kind() requestKind {
	switch {
	case strings.HasPrefix(r.subject, "$JS.ACK."):
		return ackRequest
	case strings.HasPrefix(r.subject, "$JS.API.CONSUMER.MSG.NEXT."):
		return pullRequest
	case strings.HasPrefix(r.subject, "$JS."):
		return readRequest
	case !r.answer:
		return plainRequest
	}
	return writeRequest
}

// wiretap is a TCP proxy before a NATS server that notes the requests of each connection, in their
// order.
type wiretap struct {
	listener net.Listener
	server   string

	mu   sync.Mutex
	sent [][]request // by connection, in the order in which they were opened
	err  error

	conns sync.WaitGroup
}

// withWiretap runs a proxy before on for as long as do runs.
func withWiretap(on ownBus, do func(tapped ownBus) error) ([][]request, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(on.url)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	w := &wiretap{listener: listener, server: address.Host}
	w.conns.Go(w.accept)
	address.Host = listener.Addr().String()
	err = do(ownBus{url: address.String()})
	err = errors.Join(err, listener.Close())
	w.conns.Wait()
	return w.sent, errors.Join(err, w.err)
}

func (w *wiretap) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", w.server)
		if err != nil {
			w.fail(errors.Join(err, client.Close()))
			return
		}
		w.mu.Lock()
		number := len(w.sent)
		w.sent = append(w.sent, nil)
		w.mu.Unlock()
		w.conns.Go(func() {
			defer server.Close()
			w.fail(w.listen(client, server, number))
		})
		w.conns.Go(func() {
			defer client.Close()
			_, _ = io.Copy(client, server) // until either is closed
		})
	}
}

func (w *wiretap) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

// listen hands on what a client sends, line by line with the payloads behind them, and notes what
// it publishes.
func (w *wiretap) listen(client, server net.Conn, number int) error {
	from := bufio.NewReader(client)
	for {
		line, err := from.ReadBytes('\n')
		if err != nil {
			return nil // the client has closed it
		}
		r, size, err := parsePublish(string(line))
		if err != nil {
			return err
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(from, payload); err != nil {
			return nil
		}
		if r != nil {
			if err := r.read(payload); err != nil {
				return err
			}
			w.mu.Lock()
			w.sent[number] = append(w.sent[number], r.request)
			w.mu.Unlock()
		}
		if _, err := server.Write(append(line, payload...)); err != nil {
			return nil
		}
	}
}

// published is a request whose payload is still to come, with the bytes of its header.
type published struct {
	request
	header int
}

// parsePublish reads the line before a payload: PUB subject [reply] size, or HPUB subject [reply]
// header-size size. Other lines have none.
func parsePublish(line string) (*published, int, error) {
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0] != "PUB" && fields[0] != "HPUB" {
		return nil, 0, nil
	}
	sizes := 1
	if fields[0] == "HPUB" {
		sizes = 2
	}
	if len(fields) < 2+sizes || len(fields) > 3+sizes {
		return nil, 0, fmt.Errorf("a client sent %q", line)
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	p := &published{request: request{subject: fields[1], answer: len(fields) == 3+sizes}}
	if sizes == 2 && err == nil {
		p.header, err = strconv.Atoi(fields[len(fields)-2])
	}
	if err != nil {
		return nil, 0, fmt.Errorf("a client sent %q: %w", line, err)
	}
	return p, size + len("\r\n"), nil
}

func (p *published) read(payload []byte) (err error) {
	p.body = payload[p.header : len(payload)-len("\r\n")]
	if p.header > 0 {
		p.request.header, err = nats.DecodeHeadersMsg(payload[:p.header])
	}
	return err
}
