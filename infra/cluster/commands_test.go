//go:build cluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage/s3"
)

// statusAway is the documented exit status of a command whose bus or store refuses or does not
// answer.
const statusAway = 4

// commandsAway need an answer of the bus. Commands that run until they are interrupted (dispatch,
// worker, watch) wait instead.
var commandsAway = []string{
	"apply " + plain + ".yaml", "publish event.json", "pause " + plain, "resume " + plain, "cancel " + plain + "/trained", "cancel " + paused + "/waits",
	"runs", "runs list", "runs show trained", "models", "models list", "models show " + plain, "models pull " + plain, "logs trained", "logs trained --follow",
	"dead", "dead list", "dead show 1", "dead retry 1", "dead drop 1",
	"studies", "studies list", "studies show 000", "studies best 000", "studies stop 000",
	"lineage " + plain + "/trained", "lineage export", "reproduce " + plain + "/trained",
	"replay --from 1", "replay --run trained --force", "gc", "streams apply --replicas 3",
	"publish event.json --wait", "worker --once",
}

// unavailable is what such a command prints, and no other reason.
var unavailable = regexp.MustCompile("the bus does not answer|JetStream system temporarily unavailable")

// With two of three servers down, every command ends with the status for an unavailable bus. With
// one more, events are published again.
func TestCommandsWithoutQuorumEndWithAway(t *testing.T) {
	t.Parallel()
	operator := newOperator(t)
	c := startLagging(t)
	c.fill(t, []string{"BUCKETS", "DEAD", "EVENTS", "JOBS", "KV_GATES", "KV_JOINS", "KV_LEASES", "KV_PIPELINES", "STUDIES"})
	must(t, c.Calm())
	operator.env = append(operator.env, "NATS_URL="+c.URL(0))
	if status, said := operator.stoker(t, "runs"); status != 0 {
		t.Fatalf("runs ends with %d while all servers are up:\n%s", status, said)
	}
	for _, s := range c.Servers[1:] {
		must(t, s.Kill())
	}
	// Its leader may not have noticed yet.
	if status, said := operator.stoker(t, "publish event.json"); status != statusAway {
		t.Errorf("publish, at once, ends with %d, want %d:\n%s", status, statusAway, said)
	}
	conn, _ := connect(t, c.Cluster, 0)
	for _, stream := range []string{"EVENTS", "JOBS", "DEAD", "STUDIES", "KV_PIPELINES", "KV_JOINS", "KV_GATES", "KV_LEASES"} {
		eventually(t, func() bool { _, err := c.Leader(conn, stream); return err != nil })
	}
	var running sync.WaitGroup
	for _, command := range commandsAway {
		running.Go(func() {
			if status, said := operator.stoker(t, command); status != statusAway || !unavailable.MatchString(said) {
				t.Errorf("%s ends with %d, want %d:\n%s", command, status, statusAway, said)
			}
		})
	}
	running.Wait()
	must(t, c.Servers[1].Start())
	eventually(t, func() bool { status, _ := operator.stoker(t, "publish event.json"); return status == 0 })
}

// operator runs commands of stoker in a folder, with a store.
type operator struct {
	binary, folder string
	env            []string
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	o := &operator{binary: filepath.Join(t.TempDir(), "stoker"), folder: t.TempDir()}
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", o.binary, "../../functions/stoker").CombinedOutput(); err != nil {
		t.Fatalf("build stoker: %v\n%s", err, said)
	}
	store, err := bucket.Start(t.Context(), bucket.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	keys := store.Credentials()
	client, err := s3.Open(t.Context(), s3.Config{Endpoint: store.Endpoint(), AccessKey: keys.AccessKey, SecretKey: keys.SecretKey})
	if err == nil {
		err = client.EnsureBucket(t.Context(), "stoker")
		client.Close()
	}
	must(t, err)
	o.env = append(os.Environ(), "HOME="+o.folder, "AWS_ENDPOINT_URL="+store.Endpoint(), "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID="+keys.AccessKey, "AWS_SECRET_ACCESS_KEY="+keys.SecretKey)
	for name, text := range map[string]string{
		plain + ".yaml": "pipeline: " + plain + "\nmodule: builtin:dnn\ntrainer: {wait_for: [transform], hyperparameters: none, train_args: {num_steps: 3}, custom_config: {label: species}}\n",
		"event.json": `{"specversion": "1.0", "id": "new", "source": "/up", "type": "dev.stoker.transform.ready.v1", "subject": "` + plain + `", "run": "new",
			"data": {"transform_graph": "s3://bkt/g"}}`,
	} {
		must(t, os.WriteFile(filepath.Join(o.folder, name), []byte(text), 0o600))
	}
	return o
}

// stoker runs a command and returns its exit status, and what it printed to standard error.
func (o *operator) stoker(t *testing.T, command string) (status int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.binary, strings.Fields(command)...)
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = o.folder, o.env, &stderr
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatalf("%s: %v", command, err)
	}
	if ctx.Err() != nil {
		return -1, fmt.Sprintf("not ended within five minutes\n%s", stderr.String())
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}
