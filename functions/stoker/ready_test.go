package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/local/natsserver"
	"github.com/stoker-ml/stoker/storage/s3"
)

// servers are a bus and a store that stop and restart, each on its own port with its data.
type servers struct {
	*testing.T
	bus    natsserver.Options
	bucket bucket.Options

	at   *natsserver.Server
	here *bucket.Server
}

func startServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{T: t, bus: natsserver.Options{Dir: t.TempDir()}, bucket: bucket.Options{Dir: t.TempDir()}}
	s.startBus()
	s.startBucket()
	s.bus.Port, s.bucket.Port = portIn(t, s.at.URL()), portIn(t, s.here.Endpoint())
	t.Cleanup(func() { _, _ = s.at.Close(), s.here.Close() })
	return s
}

func (s *servers) startBus() {
	s.Helper()
	var err error
	if s.at, err = natsserver.Start(context.Background(), s.bus); err != nil {
		s.Fatal(err)
	}
}

func (s *servers) startBucket() {
	s.Helper()
	var err error
	if s.here, err = bucket.Start(context.Background(), s.bucket); err != nil {
		s.Fatal(err)
	}
}

func portIn(t *testing.T, address string) int {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(parsed.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// operating runs a command until the test ends, and returns the address of its probes.
func (s *servers) operating(args ...string) string {
	s.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	args = append([]string{"stoker"}, append(args, "--nats", s.at.URL(), "--s3", s.here.Endpoint(), "--listen", "127.0.0.1:0", "--log-level", "info")...)
	go func() { ended <- execute(ctx, args, io.Discard, in); _ = in.Close() }()
	s.Cleanup(func() {
		stop()
		if status := <-ended; status != 0 {
			s.Errorf("%s left with %d", args[1], status)
		}
	})
	return addressIn(s.T, out)
}

var probesAddress = regexp.MustCompile(`probes and metrics are served.*address=(\S+)`)

// addressIn reads a log until it has the address of the probes, and then discards the rest.
func addressIn(t *testing.T, log *io.PipeReader) string {
	t.Helper()
	var said strings.Builder
	part := make([]byte, 4096)
	for {
		n, err := log.Read(part)
		said.Write(part[:n])
		if at := probesAddress.FindStringSubmatch(said.String()); at != nil {
			go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the command
			return "http://" + at[1]
		}
		if err != nil {
			t.Fatal(err, said.String())
		}
	}
}

// expect requests a path until it answers with a status and a text. The process must live all the
// time.
func (s *servers) expect(address, path string, status int, text string) {
	s.Helper()
	const patience = 8 * time.Minute
	last := ""
	for began := time.Now(); time.Since(began) < patience; time.Sleep(50 * time.Millisecond) {
		if got := s.ask(address + "/healthz"); got != "200 ok\n" {
			s.Fatalf("/healthz: %s", got)
		}
		if last = s.ask(address + path); strings.HasPrefix(last, strconv.Itoa(status)) && strings.Contains(last, text) {
			return
		}
	}
	s.Fatalf("%s is never %d with %q: %s", path, status, text, last)
}

func (s *servers) ask(url string) string {
	s.Helper()
	answer, err := http.Get(url)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, body)
}

// A worker and a dispatcher are ready while the services they need answer, and again after these
// have returned; they live all the time. A dispatcher reports the queues of jobs, and needs no
// store.
func TestWhoIsReadyFollowsBusAndStore(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s := startServers(t)
	keys := s.here.Credentials()
	t.Setenv("AWS_ACCESS_KEY_ID", keys.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", keys.SecretKey)
	s.prepare()
	worker, dispatcher := s.operating("worker"), s.operating("dispatch")
	for _, at := range []string{worker, dispatcher} {
		s.expect(at, "/readyz", 200, "ok")
		s.expect(at, "/metrics", 200, `stoker_queue_lag{consumer="train-cpu",stream="JOBS"} 0`)
	}
	s.expect(dispatcher, "/metrics", 200, `stoker_queue_lag{consumer="dispatch",stream="EVENTS"} 0`)

	if err := s.at.Close(); err != nil {
		t.Fatal(err)
	}
	s.expect(worker, "/readyz", 503, "bus: ")
	s.expect(dispatcher, "/readyz", 503, "bus: ")
	s.startBus()
	s.expect(worker, "/readyz", 200, "ok")
	s.expect(dispatcher, "/readyz", 200, "ok")

	if err := s.here.Close(); err != nil {
		t.Fatal(err)
	}
	s.expect(worker, "/readyz", 503, "store: ")
	s.expect(dispatcher, "/readyz", 200, "ok")
	s.startBucket()
	s.expect(worker, "/readyz", 200, "ok")
}

// Notifiers and exporters are ready once they have their consumers, while the bus answers, and
// report their lag.
func TestListenersAreReadyWhileTheyListen(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s := startServers(t)
	keys := s.here.Credentials()
	t.Setenv("AWS_ACCESS_KEY_ID", keys.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", keys.SecretKey)
	s.prepare()
	const receiver = "http://127.0.0.1:9/"
	notifier, exporter := s.operating("notify", "--url", receiver), s.operating("lineage", "export", "--follow", "--to", receiver)
	both := []string{notifier, exporter}
	for _, at := range both {
		s.expect(at, "/readyz", 200, "ok")
	}
	s.expect(notifier, "/metrics", 200, `stoker_queue_lag{consumer="notify-default",stream="DEAD"} 0`)
	s.expect(exporter, "/metrics", 200, `stoker_queue_lag{consumer="openlineage",stream="EVENTS"} 0`)
	if err := s.at.Close(); err != nil {
		t.Fatal(err)
	}
	for _, at := range both {
		s.expect(at, "/readyz", 503, "bus: ")
	}
	s.startBus()
	for _, at := range both {
		s.expect(at, "/readyz", 200, "ok")
	}
}

// prepare creates streams and a bucket.
func (s *servers) prepare() {
	s.Helper()
	if status := execute(context.Background(), []string{"stoker", "streams", "apply", "--nats", s.at.URL()}, io.Discard, s.Output()); status != 0 {
		s.Fatal("streams: ", status)
	}
	store, err := s3.Open(s.Context(), s3.Config{Endpoint: s.here.Endpoint(), AccessKey: s.here.Credentials().AccessKey, SecretKey: s.here.Credentials().SecretKey})
	if err == nil {
		err = store.EnsureBucket(s.Context(), "stoker")
	}
	if err != nil {
		s.Fatal(err)
	}
}
