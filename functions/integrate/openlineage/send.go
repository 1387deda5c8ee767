package openlineage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// HTTP posts events to a receiver, as OpenLineage's own clients do.
type HTTP struct {
	URL    string // of the receiver with its endpoint: http://marquez:5000/api/v1/lineage
	APIKey string // sent as a bearer token; "" for none
	Client *http.Client
}

// DefaultEndpoint is where receivers take events, below their address.
const DefaultEndpoint = "api/v1/lineage"

// DefaultTimeout is what OpenLineage's clients give a receiver.
const DefaultTimeout = 5 * time.Second

// Send implements Sender. A receiver that answers 4xx refuses the event, except for 401, 403, 408
// and 429, which may pass.
func (h HTTP) Send(ctx context.Context, e Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return &Refused{fmt.Errorf("encode event: %w", err)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if h.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+h.APIKey)
	}
	client := h.Client
	if client == nil {
		client = &http.Client{Timeout: DefaultTimeout}
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("send event: %w", err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 512))
	if answer.StatusCode < 300 {
		return nil
	}
	err = fmt.Errorf("send event: %s answered %s: %s", request.URL.Redacted(), answer.Status, strings.TrimSpace(strings.ToValidUTF8(string(said), "?")))
	if passing(answer.StatusCode) {
		return err
	}
	return &Refused{err}
}

func passing(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 || status < 400
}

// Lines writes events to a file or a pipe, one JSON object a line.
type Lines struct {
	mu sync.Mutex
	to io.Writer
}

// NewLines returns a Sender that writes to w.
func NewLines(w io.Writer) *Lines { return &Lines{to: w} }

// Send implements Sender.
func (l *Lines) Send(_ context.Context, e Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return &Refused{fmt.Errorf("encode event: %w", err)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// In one write, so that readers of the file see whole lines.
	_, err = l.to.Write(append(text, '\n'))
	return err
}

// Config is where events go, by the variables of OpenLineage's own clients.
type Config struct {
	Disabled  bool
	URL       string // of a receiver, with its endpoint; "" for none
	APIKey    string
	File      string // that is added to; "" for none
	Console   bool
	Namespace string
}

// FromEnviron reads OPENLINEAGE_DISABLED, OPENLINEAGE_URL, OPENLINEAGE_ENDPOINT,
// OPENLINEAGE_API_KEY and OPENLINEAGE_NAMESPACE, and of the newer form OPENLINEAGE__TRANSPORT__TYPE
// (http, file, console), __URL, __ENDPOINT, __AUTH (JSON with apiKey) and __LOG_FILE_PATH.
func FromEnviron(lookup func(string) string) (Config, error) {
	const newer = "OPENLINEAGE__TRANSPORT__"
	first := func(names ...string) string {
		for _, name := range names {
			if value := lookup(name); value != "" {
				return value
			}
		}
		return ""
	}
	c := Config{
		Disabled:  strings.EqualFold(lookup("OPENLINEAGE_DISABLED"), "true"),
		Namespace: lookup("OPENLINEAGE_NAMESPACE"),
		APIKey:    lookup("OPENLINEAGE_API_KEY"),
	}
	if auth := lookup(newer + "AUTH"); auth != "" {
		var key struct {
			Key string `json:"apiKey"`
		}
		if err := json.Unmarshal([]byte(auth), &key); err != nil {
			// Its text may be a secret.
			return c, fmt.Errorf(`%sAUTH: expected JSON like {"type": "api_key", "apiKey": "..."}`, newer)
		}
		c.APIKey = key.Key
	}
	address, endpoint := first(newer+"URL", "OPENLINEAGE_URL"), first(newer+"ENDPOINT", "OPENLINEAGE_ENDPOINT")
	switch kind := lookup(newer + "TYPE"); kind {
	case "file":
		if c.File = lookup(newer + "LOG_FILE_PATH"); c.File == "" {
			return c, fmt.Errorf("%sTYPE is file: expected the file in %[1]sLOG_FILE_PATH", newer)
		}
		return c, nil
	case "console":
		c.Console = true
		return c, nil
	case "", "http":
	default:
		return c, fmt.Errorf("%sTYPE: expected http, file or console, got %q", newer, kind)
	}
	if address == "" {
		return c, nil
	}
	var err error
	c.URL, err = Receiver(address, endpoint)
	return c, err
}

// Receiver is where the events go of a receiver at an address; one with a path of its own is taken
// as it stands.
func Receiver(address, endpoint string) (string, error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", fmt.Errorf("receiver of OpenLineage events: expected http://host or https://host, got %q", address)
	}
	if strings.Trim(at.Path, "/") == "" || endpoint != "" {
		at = at.JoinPath(orDefault(endpoint, DefaultEndpoint))
	}
	return at.String(), nil
}

// OpenFile opens a file to add lines to.
func OpenFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}
