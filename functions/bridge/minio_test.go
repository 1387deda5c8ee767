//go:build minio

package bridge_test

import (
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/bridge"
	"github.com/stoker-ml/stoker/local/bus"
	"github.com/stoker-ml/stoker/storage/s3"
	"github.com/stoker-ml/stoker/storage/s3/miniotest"
)

// minio is a MinIO server that tells a bus of markers in its bucket data.
type minio struct {
	*testing.T
	box   *jetstream.Letterbox
	store *s3.Store
	tool  *awss3.Client
}

func startMinIO(t *testing.T) minio {
	t.Helper()
	box, address := startBus(t)
	password, _ := address.User.Password()
	server := miniotest.Start(t,
		"MINIO_NOTIFY_NATS_ENABLE_STOKER=on", "MINIO_NOTIFY_NATS_ADDRESS_STOKER="+address.Host, "MINIO_NOTIFY_NATS_JETSTREAM_STOKER=on",
		"MINIO_NOTIFY_NATS_SUBJECT_STOKER=buckets.minio", "MINIO_NOTIFY_NATS_QUEUE_DIR_STOKER="+t.TempDir(),
		"MINIO_NOTIFY_NATS_USERNAME_STOKER="+address.User.Username(), "MINIO_NOTIFY_NATS_PASSWORD_STOKER="+password,
	)
	store, err := s3.Open(t.Context(), s3.Config{Endpoint: server.Endpoint, AccessKey: server.AccessKey, SecretKey: server.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	tool := awss3.New(awss3.Options{
		BaseEndpoint: aws.String(server.Endpoint), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	m := minio{t, box, store, tool}
	m.watch()
	return m
}

// startBus returns a letterbox on a real NATS server, and the server's address with its credentials.
func startBus(t *testing.T) (*jetstream.Letterbox, *url.URL) {
	t.Helper()
	server, err := bus.Start(t.Context(), bus.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	box, err := jetstream.Connect(t.Context(), server.URL(), jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	address, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return box, address
}

// watch makes the bucket, and the rule that `mc event add` makes.
func (m minio) watch() {
	m.Helper()
	if err := m.store.EnsureBucket(m.Context(), "data"); err != nil {
		m.Fatal(err)
	}
	_, err := m.tool.PutBucketNotificationConfiguration(m.Context(), &awss3.PutBucketNotificationConfigurationInput{
		Bucket: aws.String("data"),
		NotificationConfiguration: &types.NotificationConfiguration{QueueConfigurations: []types.QueueConfiguration{{
			QueueArn: aws.String("arn:minio:sqs::STOKER:nats"), Events: []types.Event{"s3:ObjectCreated:*"},
			Filter: &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{FilterRules: []types.FilterRule{
				{Name: types.FilterRuleNameSuffix, Value: aws.String("_SUCCESS")},
			}}},
		}}},
	})
	if err != nil {
		m.Fatal(err)
	}
}

func (m minio) put(key, body string, metadata map[string]string) {
	m.Helper()
	_, err := m.tool.PutObject(m.Context(), &awss3.PutObjectInput{
		Bucket: aws.String("data"), Key: &key, Body: strings.NewReader(body), Metadata: metadata,
	})
	if err != nil {
		m.Fatal(err)
	}
}

// next handles the next notification, and returns how it read.
func (m minio) next(b *bridge.Bridge) string {
	m.Helper()
	if err := b.Next(m.Context(), 30*time.Second); err != nil {
		m.Fatal(err)
	}
	notice, err := m.box.FollowBuckets(m.Context(), "test", 30*time.Second)
	if err != nil {
		m.Fatal(err)
	}
	if err := notice.Done(m.Context()); err != nil {
		m.Fatal(err)
	}
	return string(notice.Message().Body)
}

func TestMinIOTellsOfMarkersAndEachIsOneFact(t *testing.T) {
	m := startMinIO(t)
	b := open(t, m.box, m.store, bridge.Options{})
	m.put("penguin/run 1+2 %41 ü/Split-train/a", "x", nil)
	m.put("penguin/run 1+2 %41 ü/_SUCCESS", "{}", map[string]string{"pipeline": "penguin"})
	told := m.next(b)
	if keep := os.Getenv("KEEP_MINIO_MESSAGE"); keep != "" { // how testdata/minio.json is made
		if err := os.WriteFile(keep, []byte(told+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.box.Notify(t.Context(), "minio", []byte(told)); err != nil { // the same again
		t.Fatal(err)
	}
	m.next(b)
	m.put("penguin/tuesday/_SUCCESS", `{"pipeline": "penguin", "examples": [{"uri": "."}]}`, nil)
	m.next(b)

	facts := factsOf(t, m.box)
	if len(facts) != 2 {
		t.Fatalf("got %+v, want a fact for each run", facts)
	}
	monday, tuesday := facts[0], facts[1]
	examples := monday.Data.(*events.ExamplesReady).Examples[0]
	if monday.Run != "run 1+2 %41 ü" || examples.URI != "s3://data/penguin/run 1+2 %41 ü" || len(examples.Splits) != 1 {
		t.Errorf("got %+v of %+v", monday, examples)
	}
	if tuesday.Run != "tuesday" || tuesday.Pipeline != "penguin" {
		t.Errorf("got %+v", tuesday)
	}
}
