//go:build hosts

package hosts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// cluster is all that runs on the hosts.
type cluster struct {
	t    *testing.T
	dir  string // binaries, logs, the servers' files
	urls string // of all servers

	hosts   map[string]*host
	servers map[string]*process
	workers map[string]*process

	bus    *jetstream.Bus
	store  *s3.Store
	config s3.Config
	root   storage.Ref
	data   storage.Ref
}

const (
	password = "of-the-test"
	bucketOf = "stoker"
	patience = 5 * time.Minute
)

// other is the host whose server the functions of a host connect to first. They learn the addresses
// of the others from it, and must connect to another one when it does not answer.
var other = map[string]string{"a": "b", "b": "a"}

// newCluster starts everything: servers on a, b and c, the store on c, dispatchers and workers on a
// and b.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), hosts: map[string]*host{}, servers: map[string]*process{}, workers: map[string]*process{}}
	for _, h := range newHosts(t, "a", "b", "c") {
		c.hosts[h.name] = h
	}
	stoker := c.build("stoker", "../../functions/stoker")
	server := c.build("nats-server", "github.com/nats-io/nats-server/v2")
	c.startServers(server)
	c.startStore(c.hosts["c"])
	c.connect(stoker)
	c.prepare()
	for _, name := range []string{"a", "b"} {
		h, environ := c.hosts[name], c.environ(other[name])
		c.keep(h, "dispatcher", environ, stoker, "dispatch", "--verbose")
		c.workers[name] = c.keep(h, "worker", environ, stoker, "worker", "--slots", "2", "--verbose")
	}
	return c
}

func (c *cluster) build(name, from string) string {
	c.t.Helper()
	binary := filepath.Join(c.dir, name)
	if out, err := exec.CommandContext(c.t.Context(), "go", "build", "-o", binary, from).CombinedOutput(); err != nil {
		c.t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return binary
}

// serverConfig is that of a production server, without TLS and accounts.
const serverConfig = `
server_name: %[1]s
listen: %[2]s:4222
http: %[2]s:8222
authorization { user: stoker, password: %[3]s }
jetstream { store_dir: %[4]q, sync_interval: always }
cluster { name: stoker, listen: %[2]s:6222, routes: [nats://10.77.0.1:6222, nats://10.77.0.2:6222, nats://10.77.0.3:6222] }
`

func (c *cluster) startServers(binary string) {
	c.t.Helper()
	var urls []string
	for _, name := range []string{"a", "b", "c"} {
		h := c.hosts[name]
		config := filepath.Join(c.dir, name+".conf")
		text := fmt.Sprintf(serverConfig, name, h.ip, password, filepath.Join(c.dir, "jetstream-"+name))
		c.must(os.WriteFile(config, []byte(text), 0o600))
		c.servers[name] = c.keep(h, "nats", nil, binary, "-c", config)
		urls = append(urls, address(h))
	}
	c.urls = strings.Join(urls, ",")
}

func (c *cluster) startStore(h *host) {
	c.t.Helper()
	self, err := os.Executable()
	c.must(err)
	env := append(os.Environ(), storeEnv+"="+h.ip+"="+filepath.Join(c.dir, "store"))
	p := c.keep(h, "store", env, self)
	config := s3.Config{Endpoint: fmt.Sprintf("http://%s:%d", h.ip, storePort)}
	c.eventually("the store answers", func(context.Context) string {
		if n, _ := fmt.Sscan(p.said(), &config.AccessKey, &config.SecretKey); n == 2 {
			return ""
		}
		return "no keys yet: " + p.said()
	})
	c.store, err = s3.Open(c.t.Context(), config)
	c.must(err)
	c.t.Cleanup(func() { _ = c.store.Close() })
	c.root = storage.Ref{Bucket: bucketOf}.Join("artifacts")
	c.data = storage.Ref{Bucket: bucketOf}.Join("data")
	c.config = config
}

// environ returns the environment of a client of bus and store, as in a container, without other
// settings.
func (c *cluster) environ(server string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "TMPDIR=" + c.dir,
		"NATS_URL=" + address(c.hosts[server]), "STOKER_ROOT=" + c.root.String(), "AWS_ENDPOINT_URL=" + c.config.Endpoint,
		"AWS_ACCESS_KEY_ID=" + c.config.AccessKey, "AWS_SECRET_ACCESS_KEY=" + c.config.SecretKey,
	}
}

func address(h *host) string { return fmt.Sprintf("nats://stoker:%s@%s:4222", password, h.ip) }

const copies = 3

// connect makes the streams, with three copies of each, as soon as the cluster can.
func (c *cluster) connect(stoker string) {
	c.t.Helper()
	c.eventually("the cluster takes streams", func(ctx context.Context) string {
		// A server without a leader does not answer.
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, stoker, "streams", "apply", "--replicas", strconv.Itoa(copies))
		cmd.Env = c.environ("a")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return ""
	})
	bus, err := jetstream.Connect(c.t.Context(), c.urls, jetstream.Options{Name: "test"})
	c.must(err)
	c.bus = bus
	c.t.Cleanup(func() { _ = bus.Close() })
}

// prepare uploads the penguins, and applies a pipeline that takes some seconds for a run.
func (c *cluster) prepare() {
	c.t.Helper()
	c.must(c.store.EnsureBucket(c.t.Context(), bucketOf))
	c.must(demo.Upload(c.t.Context(), c.store, c.data))
	_, text := demo.PipelineFile()
	longer := strings.Replace(string(text), "num_steps: 100", "num_steps: 60000", 1)
	p, err := pipeline.Parse("penguin.yaml", []byte(longer))
	c.must(err)
	_, _, err = dispatch.Apply(c.t.Context(), c.bus, p)
	c.must(err)
}

// publish publishes the events of runs until they are acknowledged, each one twice, like a
// publisher that retries.
func (c *cluster) publish(wave string, runs int) (names []string) {
	c.t.Helper()
	for i := range runs {
		run := fmt.Sprintf("%s-%d", wave, i)
		names = append(names, run)
		for _, event := range demo.Events(c.data, run) {
			if transform, ok := event.Data.(*events.TransformReady); ok {
				transform.Force = true // the data is that of the others
			}
			for range 2 {
				c.eventually("event "+event.ID+" is heard", func(ctx context.Context) string {
					ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
					defer cancel()
					if _, err := c.bus.Publish(ctx, event); err != nil {
						return err.Error()
					}
					return ""
				})
			}
		}
	}
	return names
}

// eventually waits until missing is "".
func (c *cluster) eventually(what string, missing func(context.Context) string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	var last string
	for ctx.Err() == nil {
		if last = missing(ctx); last == "" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Fatalf("not so after %s: %s: %s", patience, what, last)
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}
