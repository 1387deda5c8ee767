package bucket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// receiver collects notifications, and refuses the first ones.
type receiver struct {
	mu       sync.Mutex
	refuse   int
	messages map[string][]string // ETag and pipeline, by bucket and key as the message has them
}

func (to *receiver) send(_ context.Context, name string, message []byte) error {
	to.mu.Lock()
	defer to.mu.Unlock()
	if to.refuse > 0 {
		to.refuse--
		return errors.New("nobody listens")
	}
	var event struct {
		Records []struct {
			EventName string
			S3        struct {
				Bucket struct{ Name string }
				Object struct {
					Key, ETag    string
					UserMetadata map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal(message, &event); err != nil {
		return err
	}
	at := event.Records[0].S3
	if at.Bucket.Name != name {
		return fmt.Errorf("bucket %s in a message of %s", at.Bucket.Name, name)
	}
	key := at.Bucket.Name + "/" + at.Object.Key
	to.messages[key] = append(to.messages[key], fmt.Sprint(at.Object.ETag, " ", at.Object.UserMetadata["X-Amz-Meta-Pipeline"]))
	return nil
}

// startNotifying starts a server that sends its notifications to to.
func startNotifying(t *testing.T, to *receiver, suffix string) (*s3.Store, *awss3.Client) {
	t.Helper()
	to.messages = map[string][]string{}
	server, store := startWith(t, bucket.Options{Dir: t.TempDir(), Notify: bucket.Notifications{Suffix: suffix, Send: to.send}})
	creds := server.Credentials()
	return store, awss3.New(awss3.Options{
		BaseEndpoint: aws.String(server.Endpoint()), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(creds.AccessKey, creds.SecretKey, ""),
	})
}

// put may be called from any goroutine.
func put(t *testing.T, store *s3.Store, name, key string, data []byte) {
	t.Helper()
	if _, err := store.Put(t.Context(), storage.Ref{Bucket: name, Key: key}, bytes.NewReader(data), int64(len(data))); err != nil {
		t.Error(err)
	}
}

func TestNotificationsAreSentBeforeTheUploaderIsAnswered(t *testing.T) {
	var to receiver
	store, client := startNotifying(t, &to, "_SUCCESS")
	if err := store.EnsureBucket(t.Context(), "data"); err != nil {
		t.Fatal(err)
	}
	put(t, store, "data", "monday/Split-train/a", []byte("1")) // not one that matters
	_, err := client.PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: aws.String("data"), Key: aws.String("a b+%41/ü/_SUCCESS"), Body: strings.NewReader("{}"),
		Metadata: map[string]string{"pipeline": "penguin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, store, "data", "parts/_SUCCESS", bytes.Repeat([]byte("x"), 20<<20))
	_, err = client.CopyObject(t.Context(), &awss3.CopyObjectInput{
		Bucket: aws.String("data"), Key: aws.String("copy/_SUCCESS"), CopySource: aws.String("data/a%20b%2B%2541/%C3%BC/_SUCCESS"),
	})
	if err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(to.messages))
	want := []string{"data/a+b%2B%2541%2F%C3%BC%2F_SUCCESS", "data/copy%2F_SUCCESS", "data/parts%2F_SUCCESS"}
	if !slices.Equal(keys, want) {
		t.Fatalf("notifications of %q, want %q", keys, want)
	}
	if got, want := to.messages[want[0]], "99914b932bd37a50b983c5e7c90ae93b penguin"; !slices.Equal(got, []string{want}) {
		t.Errorf("notifications %q, want %q", got, want)
	}
}

func TestAnUploadIsRetriedIfItsNotificationFails(t *testing.T) {
	to := receiver{refuse: 1}
	store, _ := startNotifying(t, &to, "")
	if err := store.EnsureBucket(t.Context(), "data"); err != nil {
		t.Fatal(err)
	}
	put(t, store, "data", "monday/_SUCCESS", nil)
	if got := to.messages["data/monday%2F_SUCCESS"]; len(got) != 1 || to.refuse != 0 {
		t.Errorf("notifications %q with %d refusals left, want once after a refusal", got, to.refuse)
	}
}

func TestConcurrentUploadsHaveOneNotificationEach(t *testing.T) {
	const buckets, objects = 16, 50
	var to receiver
	store, _ := startNotifying(t, &to, "")
	var uploading sync.WaitGroup
	for b := range buckets {
		name := fmt.Sprintf("data-%02d", b)
		if err := store.EnsureBucket(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		uploading.Go(func() {
			for o := range objects {
				put(t, store, name, fmt.Sprintf("k%02d", o), []byte("{}"))
			}
		})
	}
	uploading.Wait()
	if len(to.messages) != buckets*objects {
		t.Errorf("notifications of %d objects, want %d", len(to.messages), buckets*objects)
	}
	for key, messages := range to.messages {
		if len(messages) != 1 {
			t.Errorf("%s has %d notifications", key, len(messages))
		}
	}
}
