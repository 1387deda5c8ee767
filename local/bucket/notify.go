package bucket

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Notifications determine where notifications of new objects are sent, and which objects cause one.
type Notifications struct {
	Suffix string // of the keys of these objects; "" for all
	// Send gets an S3 event message once the object is in place, and returns when the message is
	// safe. The uploader is answered after that. An error fails the request, so that the uploader
	// tries again; the object exists nevertheless.
	Send func(ctx context.Context, bucket string, message []byte) error
}

// created sends the notification of one object, if it causes one.
func (s *Server) created(ctx context.Context, bucket, key string, o *object) error {
	if s.notifications.Send == nil || !strings.HasSuffix(key, s.notifications.Suffix) {
		return nil
	}
	message, err := creation(bucket, key, o.ETag, o.User, time.Now().UTC())
	if err != nil {
		return err
	}
	if err := s.notifications.Send(ctx, bucket, message); err != nil {
		return fmt.Errorf("notify of %s/%s: %w", bucket, key, err)
	}
	return nil
}

// creation returns an S3 event message as MinIO writes it, metadata included ("Event message
// structure" in the S3 user guide).
func creation(bucket, key, etag string, metadata map[string]string, now time.Time) ([]byte, error) {
	user := map[string]string{}
	for name, value := range metadata {
		user[http.CanonicalHeaderKey("X-Amz-Meta-"+name)] = value
	}
	type fields map[string]any
	return json.Marshal(fields{"Records": []fields{{
		"eventVersion": "2.2",
		"eventSource":  "stoker:s3",
		"eventName":    "s3:ObjectCreated:Put",
		"eventTime":    now.Format(time.RFC3339Nano),
		"s3": fields{
			"s3SchemaVersion": "1.0",
			"bucket":          fields{"name": bucket, "arn": "arn:aws:s3:::" + bucket},
			"object": fields{
				"key":          url.QueryEscape(key),
				"eTag":         etag,
				"sequencer":    fmt.Sprintf("%016X", now.UnixNano()),
				"userMetadata": user,
			},
		},
	}}})
}
