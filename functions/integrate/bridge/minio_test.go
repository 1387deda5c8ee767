//go:build minio

package bridge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/storage/s3"
	"github.com/stoker-ml/stoker/storage/s3/miniotest"
)

// minio is a MinIO server that notifies a bus of markers in its bucket data.
type minio struct {
	*testing.T
	bus   *jetstream.Bus
	store *s3.Store
	tool  *awss3.Client
}

func startMinIO(t *testing.T) minio {
	t.Helper()
	bus, address := startBus(t)
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
	m := minio{t, bus, store, tool}
	m.watch()
	return m
}

// watch creates the bucket, and the rule that `mc event add` creates.
func (m minio) watch() {
	m.Helper()
	if err := m.store.EnsureBucket(m.Context(), "data"); err != nil {
		m.Fatal(err)
	}
	rule := &awss3.PutBucketNotificationConfigurationInput{
		Bucket: aws.String("data"),
		NotificationConfiguration: &types.NotificationConfiguration{QueueConfigurations: []types.QueueConfiguration{{
			QueueArn: aws.String("arn:minio:sqs::STOKER:nats"), Events: []types.Event{"s3:ObjectCreated:*"},
			Filter: &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{FilterRules: []types.FilterRule{
				{Name: types.FilterRuleNameSuffix, Value: aws.String("_SUCCESS")},
			}}},
		}}},
	}
	// MinIO answers shortly before its notification targets are ready.
	for end := time.Now().Add(8 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := m.tool.PutBucketNotificationConfiguration(m.Context(), rule)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "destination ARN does not exist") || time.Now().After(end) {
			m.Fatal(err)
		}
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

func TestMinIOTellsOfMarkersAndEachIsOneEvent(t *testing.T) {
	m := startMinIO(t)
	b := open(t, m.bus, m.store, bridge.Options{})
	m.put("penguin/run 1+2 %41 ü/Split-train/a", "x", nil)
	m.put("penguin/run 1+2 %41 ü/_SUCCESS", "{}", map[string]string{"pipeline": "penguin"})
	handle(t, b, 1)
	again(t, m.bus)
	m.put("penguin/tuesday/_SUCCESS", `{"pipeline": "penguin", "examples": [{"uri": "."}]}`, nil)
	handle(t, b, 2)

	evs := eventsOf(t, m.bus)
	if len(evs) != 2 {
		t.Fatalf("got %+v, want an event for each run", evs)
	}
	monday, tuesday := evs[0], evs[1]
	examples := monday.Data.(*events.ExamplesReady).Examples[0]
	if monday.Run != "run 1+2 %41 ü" || examples.URI != "s3://data/penguin/run 1+2 %41 ü" || len(examples.Splits) != 1 {
		t.Errorf("got %+v of %+v", monday, examples)
	}
	if tuesday.Run != "tuesday" || tuesday.Pipeline != "penguin" {
		t.Errorf("got %+v", tuesday)
	}
}
