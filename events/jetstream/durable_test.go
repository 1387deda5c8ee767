//go:build unix

package jetstream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// The test binary is also the server that it kills.
const (
	serveDir  = "STOKER_TEST_BUS_DIR"
	servePort = "STOKER_TEST_BUS_PORT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveDir); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs a bus until the end of standard input, which is the end of the test.
func serve(dir string) error {
	port, err := strconv.Atoi(os.Getenv(servePort))
	if err != nil {
		return fmt.Errorf("read %s: %w", servePort, err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server, err := natsserver.Start(context.Background(), natsserver.Options{Dir: dir, Port: port, SyncAlways: true, Logger: log})
	if err != nil {
		return err
	}
	fmt.Println(server.URL())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, server.Close())
}

// process is a bus in a separate process group.
type process struct {
	cmd *exec.Cmd
	url string
}

func startProcess(t *testing.T, dir string, port int) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveDir+"="+dir, fmt.Sprintf("%s=%d", servePort, port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = t.Output()
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("start the bus's process: %v", err)
	}
	p.url = strings.TrimSpace(line)
	return p
}

// kill kills the whole group at once, like the kernel when memory is exhausted. Killing again does
// nothing.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		_ = p.cmd.Wait()
	}
}

// publisher publishes events and jobs sequentially, and records what the bus acknowledged.
type publisher struct {
	name   string
	bus    *jetstream.Bus
	conn   *nats.Conn
	next   int               // number of the next event
	events map[string]uint64 // id to sequence, acknowledged
	jobs   []string          // likewise
}

func (p *publisher) publish(ctx context.Context) {
	for ctx.Err() == nil && p.publishOne(ctx) == nil {
	}
}

// publishOne publishes an event and a job. After an error both are published again, which succeeds
// if they had been stored.
func (p *publisher) publishOne(ctx context.Context) error {
	event := plainEvent()
	event.ID = fmt.Sprintf("%s-%d", p.name, p.next)
	receipt, err := p.bus.Publish(ctx, event)
	if err != nil {
		return err
	}
	p.events[event.ID] = receipt.Sequence
	if err := p.bus.Enqueue(ctx, durableJob(event.ID)); err != nil {
		return err
	}
	p.jobs = append(p.jobs, event.ID)
	p.next++
	return nil
}

func durableJob(id string) events.Job {
	return events.Job{
		ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "run-1", Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/gen", ID: id}},
	}
}

// Everything that the bus has acknowledged survives a SIGKILL at any moment, with the last write of
// each stream's file torn. Publishers keep their connections and continue by themselves. (No test
// can show that a disk has what was synced to it when the power fails.)
func TestWhatWasAcknowledgedOutlivesAKilledServerAndATornWrite(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	server := startProcess(t, dir, 0)
	port, err := strconv.Atoi(server.url[strings.LastIndexByte(server.url, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	publishers := connectPublishers(t, server.url)
	// Makes sure that there is something to tear, even on a slow machine.
	if err := publishers[0].publishOne(t.Context()); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for _, p := range publishers {
			group.Go(func() { p.publish(ctx) })
		}
		time.Sleep(time.Duration(50+random.IntN(300)) * time.Millisecond)
		server.kill()
		waitUntilGone(t, publishers) // all acknowledgements have been read by then
		stop()
		group.Wait()
		for _, stream := range []string{"EVENTS", "JOBS"} {
			tear(t, random, dir, stream, lastAcknowledged(publishers))
		}
		server = startProcess(t, dir, port)
		bus := connectTo(t, server.url, jetstream.Options{})
		checkEvents(t, bus, round, publishers)
	}
	checkJobs(t, connectTo(t, server.url, jetstream.Options{}), publishers)
}

func connectTo(t *testing.T, url string, opts jetstream.Options) *jetstream.Bus {
	t.Helper()
	opts.Lease = bustest.Lease
	bus, err := jetstream.Connect(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

func connectPublishers(t *testing.T, url string) (all []*publisher) {
	t.Helper()
	connectTo(t, url, jetstream.Options{Create: true})
	for i := range 3 {
		conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
			// nats.go's own handler prints
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		bus, err := jetstream.Open(t.Context(), conn, jetstream.Options{Lease: bustest.Lease})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = bus.Close() })
		all = append(all, &publisher{name: fmt.Sprintf("p%d", i), bus: bus, conn: conn, events: map[string]uint64{}})
	}
	return all
}

func waitUntilGone(t *testing.T, publishers []*publisher) {
	t.Helper()
	deadline := time.Now().Add(8 * time.Minute)
	for slices.ContainsFunc(publishers, func(p *publisher) bool { return p.conn.IsConnected() }) {
		if time.Now().After(deadline) {
			t.Fatal("the connections outlive the server")
		}
		time.Sleep(time.Millisecond)
	}
}

func lastAcknowledged(publishers []*publisher) (last uint64) {
	for _, p := range publishers {
		for _, sequence := range p.events {
			last = max(last, sequence)
		}
	}
	return last
}

// checkEvents checks that every acknowledged event is there once, under its own sequence, and each
// publisher's in order.
func checkEvents(t *testing.T, bus events.Bus, round int, publishers []*publisher) {
	t.Helper()
	there := map[string]uint64{}
	var last uint64
	for recorded, err := range bus.Read(t.Context(), events.Query{}) {
		if err != nil || recorded.Err != nil {
			t.Fatalf("round %d: %v, %v", round, err, recorded.Err)
		}
		if sequence := recorded.Message.Sequence; sequence <= last || there[recorded.Event.ID] != 0 {
			t.Errorf("round %d: event %s at %d, after %d and before at %d", round, recorded.Event.ID, sequence, last, there[recorded.Event.ID])
		}
		last = recorded.Message.Sequence
		there[recorded.Event.ID] = last
	}
	for _, p := range publishers {
		var before uint64
		for n := range len(p.events) {
			id := fmt.Sprintf("%s-%d", p.name, n)
			if there[id] == 0 || there[id] != p.events[id] || there[id] <= before {
				t.Errorf("round %d: event %s is at %d, acknowledged at %d, after one at %d", round, id, there[id], p.events[id], before)
			}
			before = there[id]
		}
		t.Logf("round %d: %s had %d events acknowledged", round, p.name, len(p.events))
	}
}

// checkJobs claims all jobs on the queue: each acknowledged one is there. There may be one that was
// not acknowledged.
func checkJobs(t *testing.T, bus events.Bus, publishers []*publisher) {
	t.Helper()
	done := map[string]bool{}
	for {
		claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
		if errors.Is(err, events.ErrEmpty) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		job, err := claim.Job()
		if err := errors.Join(err, claim.Ack(t.Context())); err != nil {
			t.Fatal(err)
		}
		done[job.ID] = true
	}
	for _, p := range publishers {
		if len(p.jobs) == 0 {
			t.Errorf("%s offered no job: the test shows nothing", p.name)
		}
		for _, id := range p.jobs {
			if !done[id] {
				t.Errorf("job %s was accepted, and is gone", id)
			}
		}
	}
}
