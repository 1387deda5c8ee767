//go:build cluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// A backup of three servers, taken and restored through a server that the leader reaches late,
// brings back every message and every consumer's position on all three servers of another cluster.
// Dispatchers and workers continue there, and no run is trained twice.
func TestABackupOfThreeServersComesBack(t *testing.T) {
	page := readPage(t)
	streams := strings.Fields(regexp.MustCompile(`for stream in ([A-Z_ ]+); do`).FindStringSubmatch(page.backup)[1])
	tools := t.TempDir()
	if err := BuildTool(tools); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(tools, "stoker"), "../../functions/stoker").CombinedOutput(); err != nil {
		t.Fatalf("build stoker: %v\n%s", err, said)
	}

	lost := startLagging(t)
	saved := lost.fill(t, streams)
	var copies []Snapshot
	for _, stream := range streams {
		one, err := Backup(lost.conn, stream, 0)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, one)
	}
	operator := shell{tools, t.TempDir()}
	operator.run(t, page.backup, lost.URL(2))
	for _, s := range lost.Servers {
		must(t, s.Kill())
	}

	for name, back := range map[string]func(*testing.T, *Cluster){
		"by requests to JetStream": func(t *testing.T, c *Cluster) {
			conn, _ := connect(t, c, 2)
			for _, one := range copies {
				must(t, one.Restore(conn))
			}
			if _, err := jetstream.Setup(t.Context(), c.URL(2), jetstream.Options{Replicas: Size}); err != nil {
				t.Fatal(err)
			}
		},
		"by the commands of the page": func(t *testing.T, c *Cluster) {
			conn, _ := connect(t, c, 2)
			// No data follows: the restore is cut off.
			must(t, ask(conn, "$JS.API.STREAM.RESTORE."+copies[3].Stream, copies[3], &struct{}{}))
			missing := notRestored(operator.run(t, page.restore, c.URL(2)))
			if !slices.Contains(missing, copies[3].Stream) {
				t.Errorf("%q are not restored; the restore of %s was cut off", missing, copies[3].Stream)
			}
			for _, stream := range missing {
				operator.repeat(t, strings.ReplaceAll(page.repeat, "EVENTS", stream), c.URL(2))
			}
			operator.run(t, page.apply, c.URL(2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := Start(t, t.TempDir())
			c.Slow(0, 2, slowLink)
			back(t, c)
			isEverywhere(t, c, streams)
			for server := range Size {
				isAsSaved(t, c, server, saved)
			}
			c.goesOn(t, saved)
		})
	}
}

// page is what infra/docs/backup.md has an operator type.
type page struct{ backup, restore, repeat, apply string }

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile("../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	// The commands of the steps.
	for _, block := range regexp.MustCompile("(?s)```\n( +\\S.*?)```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, block[1])
	}
	first := []string{"for stream in ", "for stream in ", "nats --inbox-prefix _INBOX.operator stream rm --force EVENTS\n", "stoker streams apply --replicas 3\n"}
	if !slices.EqualFunc(found, first, func(block, begin string) bool { return strings.HasPrefix(strings.TrimSpace(block)+"\n", begin) }) {
		t.Fatalf("the page has the commands %q, want some that begin with %q", found, first)
	}
	return page{found[0], found[1], found[2], found[3]}
}

// notRestored returns the streams that the page's loop says are not restored.
func notRestored(said string) (streams []string) {
	for _, found := range regexp.MustCompile(`(?m)^not restored: (\w+)$`).FindAllStringSubmatch(said, -1) {
		streams = append(streams, found[1])
	}
	return streams
}

// shell runs commands as an operator does, with the tools in PATH and NATS_URL set.
type shell struct{ tools, folder string }

func (s shell) run(t *testing.T, script, address string) string {
	t.Helper()
	said, err := s.try(t, script, address)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, said)
	}
	return said
}

// repeat runs a script until it succeeds, five times at most: a restore may fail for the same
// reason again.
func (s shell) repeat(t *testing.T, script, address string) {
	t.Helper()
	for range 4 {
		said, err := s.try(t, script, address)
		if err == nil {
			return
		}
		t.Logf("%s: %v\n%s", script, err, said)
	}
	s.run(t, script, address)
}

func (s shell) try(t *testing.T, script, address string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "PATH="+s.tools+string(filepath.ListSeparator)+os.Getenv("PATH"), "NATS_URL="+address, "HOME="+s.folder, "XDG_CONFIG_HOME="+s.folder)
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// Pipelines of the backup: one that trains at once, one that waits for two events, and one that is
// paused.
const (
	plain  = "penguin"
	paired = "paired"
	paused = "paused"
)

// contents is what the bus holds when it is backed up.
type contents struct {
	lines map[string][]string // of each stream
	jobs  uint64              // sequence of the last job that was enqueued
	study []uint64            // sequences of its entries
}

var savedStudy = events.Study{Pipeline: plain, ID: fmt.Sprintf("%064x", 1)}

// fill puts one of everything on a bus: a run that is trained, one whose job a worker has, one
// whose job waits, one that waits for a second event, one of a paused pipeline, and one whose event
// has not been handled; a pipeline of two revisions, a dead letter, a study and a bucket
// notification.
func (l lagging) fill(t *testing.T, streams []string) contents {
	t.Helper()
	two := pipelineOf(t, "pipeline: "+paired+"\nmodule: builtin:dnn\ntrainer: {wait_for: [transform, hparams], hyperparameters: run}\n")
	for _, p := range []pipeline.Pipeline{spec(t, plain, 1), spec(t, plain, 2), two, spec(t, paused, 1)} {
		if _, _, err := dispatch.Apply(t.Context(), l.leader, p); err != nil {
			t.Fatal(err)
		}
	}
	must(t, dispatch.Pause(t.Context(), l.leader, paused))
	stop := startDispatcher(t, l.late)
	publish(t, l.leader, event(plain, "trained"))
	w := &trainer{}
	if worked, err := w.on(l.late).Once(t.Context(), longWait); err != nil || !worked {
		t.Fatalf("the worker has worked: %t, %v", worked, err)
	}
	publish(t, l.leader, event(plain, "claimed"))
	claim(t, l.leader, "claimed")
	for _, f := range []events.Event{event(plain, "queued"), event(paired, "half"), event(paused, "waits"), event("unknown", "dead")} {
		publish(t, l.leader, f)
	}
	l.quiet(t)
	stop()
	publish(t, l.leader, event(plain, "unhandled"))
	saved := contents{lines: map[string][]string{}}
	var after uint64
	for range 3 {
		var err error
		if after, err = l.late.AppendStudy(t.Context(), savedStudy, []byte("{}"), after); err != nil {
			t.Fatal(err)
		}
		saved.study = append(saved.study, after)
	}
	must(t, l.late.Notify(t.Context(), "store", []byte("{}")))
	isEverywhere(t, l.Cluster, streams)
	for _, stream := range streams {
		if saved.lines[stream] = linesOf(t, l.Cluster, stream); len(saved.lines[stream]) < 2 {
			t.Errorf("stream %s is backed up empty", stream)
		}
	}
	saved.jobs = lastSequence(t, l.Cluster, "JOBS")
	return saved
}

// isEverywhere waits until the cluster has the streams of the backup and those in memory, and each
// stream and each durable consumer has a complete copy on all three servers.
func isEverywhere(t *testing.T, c *Cluster, streams []string) {
	t.Helper()
	_, js := connect(t, c, 0)
	var found []string
	for name := range js.StreamNames() {
		found = append(found, name)
	}
	slices.Sort(found)
	if want := slices.Sorted(slices.Values(append([]string{"PROGRESS", "WORKERS"}, streams...))); !slices.Equal(found, want) {
		t.Errorf("the cluster has the streams %q, want %q", found, want)
	}
	for _, stream := range found {
		info, err := js.StreamInfo(stream)
		if err != nil {
			t.Fatal(err)
		}
		if info.Config.Replicas != Size {
			t.Errorf("stream %s has %d replicas", stream, info.Config.Replicas)
		}
		eventually(t, func() bool {
			info, err := js.StreamInfo(stream)
			whole := err == nil && hasAll(info.Cluster)
			for consumer := range js.Consumers(stream) {
				whole = whole && (consumer.Config.Durable == "" || hasAll(consumer.Cluster))
			}
			return whole
		})
	}
}

// hasAll reports whether a leader has two complete followers.
func hasAll(group *nats.ClusterInfo) bool {
	return group != nil && group.Leader != "" && len(group.Replicas) == Size-1 &&
		!slices.ContainsFunc(group.Replicas, func(r *nats.PeerInfo) bool { return !r.Current || r.Offline || r.Lag > 0 })
}

// linesOf describes all that the leader of a stream has: each message, and the position of each
// durable consumer. A message that was delivered and not acknowledged is delivered again at once
// after a restore.
func linesOf(t *testing.T, c *Cluster, stream string) []string {
	t.Helper()
	_, js := connect(t, c, 2)
	info, err := js.StreamInfo(stream)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{fmt.Sprintf("stream %s: %d messages, %d to %d", stream, info.State.Msgs, info.State.FirstSeq, info.State.LastSeq)}
	for sequence := info.State.FirstSeq; sequence <= info.State.LastSeq; sequence++ {
		m, err := js.GetMsg(stream, sequence)
		if errors.Is(err, nats.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("message %d of %s: %s %v %q", m.Sequence, m.Time, m.Subject, m.Header, m.Data))
	}
	var readers []string
	for r := range js.Consumers(stream) {
		if r.Config.Durable != "" {
			readers = append(readers, fmt.Sprintf("consumer %s of %s within %s: behind %d; %d not acknowledged",
				r.Name, r.Config.FilterSubject, r.Config.AckWait, r.AckFloor.Stream, uint64(r.NumAckPending)+r.NumPending))
		}
	}
	slices.Sort(readers)
	return append(lines, readers...)
}

func lastSequence(t *testing.T, c *Cluster, stream string) uint64 {
	t.Helper()
	_, js := connect(t, c, 0)
	info, err := js.StreamInfo(stream)
	if err != nil {
		t.Fatal(err)
	}
	return info.State.LastSeq
}

// isAsSaved has a server lead each stream, so that it answers from its own copy, and compares that
// with what was backed up.
func isAsSaved(t *testing.T, c *Cluster, server int, saved contents) {
	t.Helper()
	conn, _ := connect(t, c, 2)
	for _, stream := range slices.Sorted(maps.Keys(saved.lines)) {
		lead(t, c, conn, stream, server)
		was, is := saved.lines[stream], linesOf(t, c, stream)
		for i := range max(len(was), len(is)) {
			if i >= len(was) || i >= len(is) || was[i] != is[i] {
				t.Errorf("stream %s of %s differs:\nbacked up %q\nrestored  %q", stream, c.Servers[server].Name, was[min(i, len(was)):], is[min(i, len(is)):])
				break
			}
		}
	}
}

// goesOn has S1 lead everything again, starts a worker and a dispatcher at the late server, and
// publishes what upstream would next.
func (c *Cluster) goesOn(t *testing.T, saved contents) {
	t.Helper()
	conn, _ := connect(t, c, 0)
	for stream := range saved.lines {
		lead(t, c, conn, stream, 0)
	}
	buses := c.buses(t, Size)
	for _, bus := range []*jetstream.Bus{buses[0], buses[2]} {
		isRead(t, bus, saved)
	}
	late := buses[2]
	for _, run := range []string{"trained", "unhandled"} {
		if receipt := publish(t, late, event(plain, run)); !receipt.Duplicate {
			t.Errorf("the event of run %s was lost: %+v", run, receipt)
		}
	}
	if sequence, err := late.AppendStudy(t.Context(), savedStudy, []byte("{}"), saved.study[2]); err != nil || sequence != saved.study[2]+1 {
		t.Errorf("the study goes on at %d, %v", sequence, err)
	}

	w := &trainer{}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { _ = w.on(late).Run(ctx) })
	defer func() { stop(); working.Wait() }()
	end := startDispatcher(t, late)
	publish(t, buses[0], events.Event{ID: "h", Source: "/up", Pipeline: paired, Run: "half", Data: &events.HParamsReady{Hyperparameters: "s3://bkt/h"}})
	must(t, dispatch.Resume(t.Context(), late, paused))

	want := []string{paired + "/half", paused + "/waits", plain + "/claimed", plain + "/queued", plain + "/unhandled"}
	eventually(t, func() bool { return len(w.attempts()) >= len(want) && c.done(t) })
	c.quiet(t)
	end()
	missNone(t, late)
	got := w.attempts()
	if runs := slices.Sorted(maps.Keys(got)); !slices.Equal(runs, want) {
		t.Errorf("trained %q, want %q", runs, want)
	}
	if got[plain+"/claimed"] < 2 {
		t.Errorf("the job that a lost worker had claimed was trained by attempt %d", got[plain+"/claimed"])
	}
	// A job may be enqueued once more if two dispatchers enqueue it and a worker finishes it in
	// between: it is not trained again.
	const enqueued = 3 // unhandled, half, waits
	if last := lastSequence(t, c, "JOBS"); last < saved.jobs+enqueued {
		t.Errorf("%d jobs were enqueued, want %d", last-saved.jobs, enqueued)
	}
	want = append(want, plain+"/trained")
	for _, bus := range buses {
		models := map[string]int{}
		for r, err := range bus.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindModelTrained}}) {
			if err = errors.Join(err, r.Err); err != nil {
				t.Fatal(err)
			}
			models[r.Event.Pipeline+"/"+r.Event.Run]++
		}
		for _, run := range want {
			if models[run] != 1 {
				t.Errorf("run %s has %d models", run, models[run])
			}
		}
	}
	oneDeadLetter(t, late)
}

// done reports whether no job is on the queue.
func (c *Cluster) done(t *testing.T) bool {
	t.Helper()
	_, js := connect(t, c, 0)
	info, err := js.StreamInfo("JOBS")
	return err == nil && info.State.Msgs == 0
}

// isRead reads what was backed up as Stoker's programs do.
func isRead(t *testing.T, bus *jetstream.Bus, saved contents) {
	t.Helper()
	if now, err := runs.Open(bus, runs.Options{}).ReadPipeline(t.Context(), plain, 0); err != nil || now.Spec.Trainer.TrainArgs.NumSteps != 2 {
		t.Errorf("the pipeline is %+v, %v", now.Spec.Trainer, err)
	}
	join, err := runs.Open(bus, runs.Options{}).Join(t.Context(), runs.Key{Pipeline: paired, Run: "half"})
	if err != nil || len(join.Events) != 1 || len(join.Stages) != 0 {
		t.Errorf("the run that waits for an event is %+v, %v", join, err)
	}
	if gate, err := runs.Open(bus, runs.Options{}).ReadAdmission(t.Context(), paused); err != nil || !gate.Paused || len(gate.Waiting) != 1 {
		t.Errorf("the gate is %+v, %v", gate, err)
	}
	var study []uint64
	for entry, err := range bus.ReadStudy(t.Context(), savedStudy, 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		study = append(study, entry.Sequence)
	}
	if len(study) < len(saved.study) || !slices.Equal(study[:len(saved.study)], saved.study) {
		t.Errorf("the study has the entries %d, want %d", study, saved.study)
	}
	oneDeadLetter(t, bus)
}

func oneDeadLetter(t *testing.T, bus *jetstream.Bus) {
	t.Helper()
	count := 0
	for deadLetter, err := range bus.DeadLetters(t.Context()) {
		if err != nil || deadLetter.Reason.Kind != events.FailureInput || !strings.Contains(deadLetter.Message.Subject, ".unknown.") {
			t.Errorf("dead letter %+v, %v", deadLetter, err)
		}
		count++
	}
	if count != 1 {
		t.Errorf("%d dead letters, want 1", count)
	}
}

// missNone lets a new dispatcher sweep: it compares the log with the joins, and looks for the job
// of every run without an outcome, as it does if it has received no event for a long time. The
// event that is a dead letter is refused once more.
func missNone(t *testing.T, bus *jetstream.Bus) {
	t.Helper()
	d, err := dispatch.New(t.Context(), bus, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d.SweepEvery = time.Millisecond
	err = d.Sweep(t.Context())
	if _, refused := events.AsKind(err, events.FailureInput); err != nil && !refused {
		t.Error(err)
	}
}
