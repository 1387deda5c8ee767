package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// upload is a created object, as a notification names it. Its address is not trusted: at.Validate
// checks it.
type upload struct {
	at       storage.Ref
	version  string // distinguishes the objects written under this key
	etag     string // without quotes
	metadata map[string]string
	time     time.Time
	badKey   error // the key was not escaped as its server escapes keys; at has it as received
}

// notification is an S3 event message, as far as a bridge reads it ("Event message structure" in
// the S3 user guide). Names are matched case-insensitively, because servers differ.
type notification struct {
	Event   string   `json:"event"` // of the message that notifications were set up
	Records []record `json:"records"`
}

type record struct {
	EventName string    `json:"eventName"`
	EventTime time.Time `json:"eventTime"`
	S3        struct {
		ConfigurationID string `json:"configurationId"`
		Bucket          struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object object `json:"object"`
	} `json:"s3"`
}

type object struct {
	Key          string            `json:"key"`
	ETag         string            `json:"eTag"`
	VersionID    string            `json:"versionId"`
	Sequencer    string            `json:"sequencer"`
	UserMetadata map[string]string `json:"userMetadata"` // MinIO only
}

const testEvent = "s3:TestEvent"

// parse parses a notification, and returns the objects that were created: none for other events. An
// error means that it is no S3 event message. It supports the messages of three servers:
//
//	           AWS                  MinIO            versitygw
//	version    2.1 to 2.3           2.0              2.2
//	eventName  ObjectCreated:Put    s3:ObjectCreated:Put for both
//	key        query-escaped        query-escaped    as it is
//	eTag       hexadecimal          hexadecimal      with quotes inside
//	sequencer  grows for a key      grows            counted from 1 at each start
//	metadata   none                 userMetadata     none
func parse(body []byte) ([]upload, error) {
	var message notification
	if err := json.Unmarshal(body, &message); err != nil {
		return nil, fmt.Errorf("read S3 event message: %w", inJSON(err))
	}
	if len(message.Records) == 0 && message.Event != testEvent {
		return nil, errors.New("read S3 event message: expected Records, got none")
	}
	var uploads []upload
	for _, r := range message.Records {
		if strings.HasPrefix(strings.TrimPrefix(r.EventName, "s3:"), "ObjectCreated:") {
			uploads = append(uploads, r.upload())
		}
	}
	return uploads, nil
}

func (r record) upload() upload {
	key, err := r.key()
	return upload{
		at:       storage.Ref{Bucket: r.S3.Bucket.Name, Key: key},
		version:  r.version(),
		etag:     strings.Trim(r.S3.Object.ETag, `"`),
		metadata: metadata(r.S3.Object.UserMetadata),
		time:     r.EventTime.UTC(),
		badKey:   err,
	}
}

// unescaping are versitygw's names of its global configurations, for which it does not escape keys.
// Other configurations have an id chosen by the owner of a bucket.
var unescaping = []string{"kafka-global", "nats-global", "rabbitmq-global", "webhook-global"}

func (r record) key() (string, error) {
	escaped := r.S3.Object.Key
	if slices.Contains(unescaping, r.S3.ConfigurationID) {
		return escaped, nil
	}
	key, err := url.QueryUnescape(escaped)
	if err != nil {
		return escaped, fmt.Errorf("key %q: %w", escaped, err)
	}
	return key, nil
}

// version returns the version's id if the bucket keeps versions. Otherwise it returns the sequence
// number of the event for its key, with its time, because a server may count from 1 again.
func (r record) version() string {
	if id := r.S3.Object.VersionID; id != "" && id != "null" {
		return id
	}
	return r.S3.Object.Sequencer + " " + r.EventTime.UTC().Format(time.RFC3339Nano)
}

const metaPrefix = "x-amz-meta-"

// metadata returns the metadata that the uploader set, under its own names.
func metadata(sent map[string]string) map[string]string {
	chosen := map[string]string{}
	for name, value := range sent {
		if own, ok := strings.CutPrefix(strings.ToLower(name), metaPrefix); ok {
			chosen[own] = value
		}
	}
	return chosen
}

// inJSON returns an error without the names of Go types.
func inJSON(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	if wrong.Field == "" {
		return fmt.Errorf("expected a JSON object, got JSON %s", wrong.Value)
	}
	return fmt.Errorf("%s: JSON %s is of the wrong type", wrong.Field, wrong.Value)
}
