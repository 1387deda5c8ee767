package stack_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

const marked = `
pipeline: penguin-marked
module: builtin:dnn
trainer:
  wait_for: [examples]
  train_args: {num_steps: 20}
  custom_config: {label: species, batch_size: 20, hidden_units: [8]}
`

// amazon returns Amazon's own client, which has only the keys of the stack.
func amazon() *s3.Client {
	c := shared.Connection()
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(c.S3), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, ""),
	})
}

// upload uploads the demo's raw examples to a folder, and then the marker.
func upload(t *testing.T, folder string, metadata map[string]string) {
	t.Helper()
	send := func(key string, body string, metadata map[string]string) {
		_, err := amazon().PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: aws.String(shared.Root.Bucket), Key: &key, Body: strings.NewReader(body), Metadata: metadata,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, split := range []string{"Split-train", "Split-eval"} {
		file := filepath.Join(split, "data_tfrecord-00000-of-00001.gz")
		body, err := os.ReadFile(filepath.Join("..", "..", "..", "local", "demo", "data", "examples", file))
		if err != nil {
			t.Fatal(err)
		}
		send(folder+"/"+file, string(body), nil)
	}
	send(folder+"/Split-later/", "", nil) // many tools write such an object for a folder
	send(folder+"/_SUCCESS", "", metadata)
}

func TestAnUploadOfAMarkerStartsOneTraining(t *testing.T) {
	t.Parallel()
	spec, err := pipeline.Parse("marked.yaml", []byte(marked))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Apply(t.Context(), shared.Bus, spec); err != nil {
		t.Fatal(err)
	}
	metadata := map[string]string{"pipeline": "penguin-marked", "schema": penguins().Join("schema").String()}
	upload(t, "marked/monday", metadata)
	again(t, "marked%2Fmonday%2F_SUCCESS")
	upload(t, "marked/tuesday", metadata) // the bridge handles it after the earlier ones

	announced := map[string]int{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for recorded, err := range shared.Bus.Read(ctx, events.Query{Pipeline: "penguin-marked", Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		announced[string(recorded.Event.Data.Kind())+" "+recorded.Event.Run]++
		if ready, ok := recorded.Event.Data.(*events.ExamplesReady); ok && !slices.Equal(ready.Examples[0].Splits, []string{"eval", "train"}) {
			t.Errorf("announced splits %v", ready.Examples[0].Splits)
		}
		if announced["model.trained monday"]+announced["model.trained tuesday"] == 2 {
			break
		}
	}
	for _, kind := range []string{"examples.ready", "model.trained"} {
		if announced[kind+" monday"] != 1 || announced[kind+" tuesday"] != 1 {
			t.Errorf("announced %v, want one %s for each run", announced, kind)
		}
	}
}

// again delivers the notification of a key a second time, as another message.
func again(t *testing.T, key string) {
	t.Helper()
	for {
		delivery, err := shared.Bus.FollowBuckets(t.Context(), "again", 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if body := delivery.Message().Body; strings.Contains(string(body), key) {
			if err := shared.Bus.Notify(t.Context(), shared.Root.Bucket, body); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}
