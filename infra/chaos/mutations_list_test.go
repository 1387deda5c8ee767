package chaos

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// edit replaces text that a file of the product holds once.
type edit struct{ file, old, with string }

// mutation removes one guard of the product.
type mutation struct {
	name  string
	tests suite
	edits []edit
}

// suite is what must fail without a guard: tests of a package, in which the moment that matters is
// forced, so that they fail each time.
type suite struct {
	folder  string // of the package that holds the tests; "": infra/chaos
	tests   string // pattern of their names
	because string // pattern for the output of the failed test; "": any output
}

// The folders of several suites.
const (
	onCluster    = "infra/cluster"
	ofBus        = "events/jetstream"
	ofDispatcher = "functions/dispatch"
	ofWorker     = "functions/worker"
)

// The guards whose absence tests must notice.
var mutations = []mutation{
	{"reads of a KV bucket ask any copy", suite{folder: onCluster, tests: "TestReadsSeeWhatWasAcknowledged", because: "the KV bucket: "}, []edit{
		askAnyCopy, anyCopyImports,
	}},
	{"the log is read from any copy", suite{folder: onCluster, tests: "TestReadsSeeWhatWasAcknowledged", because: "the log by "}, []edit{
		{"events/jetstream/read.go", "scan.complete, scan.few = !q.Follow, ", "scan.complete, scan.few = false, false && "},
	}},
	{"the job of an ended run is enqueued and worked on", suite{folder: onCluster, tests: "TestARunThatIsCancelled", because: "cancelled runs were trained|ended with"}, []edit{
		{"functions/dispatch/enqueue.go", "\t\tcase now.State == join.Ended:\n\t\t\treturn d.announce(ctx, now)\n",
			"\t\tcase now.State == join.Ended:\n\t\t\tnow.Join = run.Dispatch(job.Function, job.ID, retry)\n\t\t\treturn now, nil\n"},
		{"functions/dispatch/sweep.go", "errors.Join(s.withdraw(ctx, run, events.FunctionTune, deployed{}), s.withdraw(ctx, run, events.FunctionTrain, deployed{}))", "error(nil)"},
		{"functions/worker/attempt.go", "case events.EndsRunWithoutJob(recorded.Event):", "case false:"},
	}},
	{"a job is worked on whose outcome was announced", suite{folder: ofWorker, tests: "TestAJobThatWasAnnouncedIsNotDoneAgain", because: "an announced job was worked on"}, []edit{
		{"functions/worker/attempt.go", "case events.Announces(recorded.Event, job):", "case false:"},
	}},
	{"a run expires by one clock", suite{folder: onCluster, tests: "TestARunOutlivesAJumpOfTheLeadersClock"}, []edit{
		{"functions/dispatch/join/decide.go", "!j.Began.IsZero() && now.Own.Sub(j.Began) <= after", "false && after == 0"},
	}},
	{"a worker acts on a lease that it has lost", suite{tests: "TestAZombiePublishesNothing"}, []edit{
		{"functions/worker/attempt.go", "Prove: claim.Prove,", "Prove: func() error { return nil },"},
		{"functions/worker/attempt.go", "err = claim.KeepAlive(ctx, a.work)", "err = a.work(ctx)"},
	}},
	{"a job that was given up is worked on again", suite{folder: ofWorker, tests: "TestAGivenUpJobIsNotWorkedOn", because: "worked on 1 times more"}, []edit{
		{"functions/worker/attempt.go", "given != nil && !a.task", "false && given != nil && !a.task"},
	}},
	{"absence is believed without a write", suite{folder: onCluster, tests: "TestALeaderThatHasLostTheOthersDecidesNothing", because: "refused|synced"}, []edit{
		{"events/jetstream/kv.go", "\tsubject := \"$KV.\" + r.kv.Bucket() + \".\" + syncKey\n",
			"\tif ctx.Err() == nil {\n\t\treturn nil\n\t}\n\tsubject := \"$KV.\" + r.kv.Bucket() + \".\" + syncKey\n"},
	}},
	{"a job is enqueued before its join is marked", suite{folder: ofDispatcher, tests: "TestARunThatIsEndedBeforeItIsMarkedHasNoJob", because: "1 jobs of a run that was cancelled"}, []edit{
		{"functions/dispatch/enqueue.go", "\tmarked, err := d.mark(ctx, run, job, retry)\n",
			"\tif _, err := d.enqueue(ctx, run, job); err != nil {\n\t\treturn run, job, err\n\t}\n\tmarked, err := d.mark(ctx, run, job, retry)\n"},
	}},
	{"a dispatcher that lost a write believes what it rereads", suite{folder: ofDispatcher, tests: "TestADispatcherThatLostAWriteReadsUntilItSeesWhatWon", because: "1 jobs of a run that was cancelled"}, []edit{
		{"functions/dispatch/enqueue.go", "\t\tnow.Join = now.RetriedAfter(job.Function, max(stage.After, before.After))\n",
			"\t\tif now.State == join.Complete {\n\t\t\tnow.Join = now.Dispatch(job.Function, job.ID, retry)\n\t\t\treturn now, nil\n\t\t}\n\t\tnow.Join = now.RetriedAfter(job.Function, max(stage.After, before.After))\n"},
	}},
	{"the dispatcher delivers a failing event again after a fixed delay", suite{folder: ofDispatcher, tests: "TestEventsThatAlwaysFailDoNotHoldUpOthers", because: "3 failing events were delivered"}, []edit{
		{"functions/dispatch/dispatcher.go", "events.RedeliveryDelay(delivery.Deliveries())", "retryDelay"},
	}},
	{"the dispatcher pauses after a failing event", suite{folder: ofDispatcher, tests: "TestEventsThatAlwaysFailDoNotHoldUpOthers", because: "200 events of another pipeline (took|are dispatched)"}, []edit{
		{"functions/dispatch/dispatcher.go", "\treturn handedBack{why, away}\n", "\treturn why\n"},
	}},
	{"the bridge delivers a failing notification again after a fixed delay", suite{folder: "functions/integrate/bridge", tests: "TestNotificationsThatAlwaysFail", because: "times in an hour"}, []edit{
		{"functions/integrate/bridge/bridge.go", "events.RedeliveryDelay(delivery.Deliveries())", "retryDelay"},
	}},
	{"the bridge pauses after a failing notification", suite{folder: "functions/integrate/bridge", tests: "TestNotificationsThatAlwaysFail", because: "events of other pipelines"}, []edit{
		{"functions/integrate/bridge/bridge.go", "\treturn handedBack{why, away}\n", "\treturn why\n"},
	}},
	{"the dispatcher takes one unanswered request for a bus that is away", suite{folder: ofDispatcher, tests: "TestEventsThatAlwaysFailDoNotHoldUpOthers", because: "200 events of another pipeline took"}, []edit{
		{"functions/dispatch/dispatcher.go", "\t\t\t_ = pause.Wait(ctx)", "\t\t\t_ = pause\n\t\t\tsleep(ctx, retryDelay)"},
	}},
	{"the bridge takes one unanswered request for a store that is away", suite{folder: "functions/integrate/bridge", tests: "TestNotificationsThatAlwaysFail", because: "events of other pipelines took"}, []edit{
		{"functions/integrate/bridge/bridge.go", "\t\t\t_ = pause.Wait(ctx)", "\t\t\t_ = pause\n\t\t\ttime.Sleep(retryDelay)"},
	}},
	{"an outcome of an earlier job is taken for that of a later one", suite{folder: ofDispatcher, tests: "TestTheOutcomeOfAnEarlierJob", because: "the join names job"}, []edit{
		{"events/outcome.go", "return EndsJob(f) && (id == \"\" || job == \"\" || id == job)", "return EndsJob(f) && (id != \"\" || job != id || true)"},
	}},
	{"an event is published whatever its subject holds", suite{folder: ofBus, tests: "TestOfTenThousandIdenticalEventsOneIsStored", because: "events are stored, want 2"}, []edit{
		{"events/jetstream/publish.go", "b.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(after))", "b.js.PublishMsg(ctx, msg)"},
	}},
	{"dead letters are named by place alone", suite{folder: ofBus, tests: "TestAJobGivenUpLeavesADeadLetterThoughItsStreamWasMadeAnew", because: "letters: 1 one\n"}, []edit{
		{"events/subject.go", "\tdigest := DerivedID(m.Subject, strconv.FormatInt(m.Stored.UnixNano(), 10), string(m.Body))\n", "\tdigest := DerivedID()\n"},
	}},
	{"a request that failed is sent once the connection is back", suite{folder: ofBus, tests: "TestAConnectionThatIsLostKeepsNoMessage", because: "received first: while the connection is lost"}, []edit{
		{"events/jetstream/connect.go", "\t\tnats.ReconnectBufSize(-1),", "\t\tnats.ReconnectBufSize(nats.DefaultReconnectBufSize),"},
	}},
	{"entries of a study need not continue its log", suite{folder: "functions/runs/studies", tests: "TestAWriterDoesNotTrustWhatFollowsALostEntry", because: "the writer has"}, []edit{
		{"compute/tune/chain.go", "if link.Previous != s.head {", "if false {"},
	}},
	{"garbage collection does not ask for queued jobs", suite{folder: "functions/admin/gc", tests: "TestTheCheckpointOfAJobOnTheQueueStays|TestTheQueueIsChecked", because: "removed"}, []edit{
		{"functions/admin/gc/work.go", "\t\tif _, queued, err := w.queued(ctx, job); queued || err != nil {\n\t\t\treturn queued, err\n\t\t}\n", ""},
	}},
	{"a commit overwrites another one", suite{folder: "storage", tests: "TestOneOfManyAttemptsWins", because: "32 winners"}, []edit{
		{"storage/commit.go", "import (\n", "import (\n\t\"bytes\"\n"},
		{"storage/commit.go", "obj, err := w.store.PutIf(ctx, w.place.Commit(), data, w.cond)",
			"obj, err := w.store.Put(ctx, w.place.Commit(), bytes.NewReader(data), int64(len(data)))"},
	}},
	{"the probe lets no two writers race", suite{folder: "storage", tests: "TestProbeRefusesAStoreThatChecksAndThenWrites", because: "want ErrNoConditions"}, []edit{
		{"storage/probe.go", "for round := range probeRounds {", "for round := range probeRounds - probeRounds {"},
	}},
}

// anyCopy has leaderMessage ask as nats.go does, which is answered by any server that has a copy.
const anyCopy = `	if request.LastSubject != "" && strings.HasPrefix(stream, "KV_") {
		found, err := b.nc.RequestWithContext(ctx, b.opts.inDomain(api+"DIRECT.GET."+stream), body)
		if err != nil {
			return events.Message{}, b.explain(ctx, err)
		}
		if found.Header.Get("Status") != "" {
			return events.Message{}, events.ErrNotFound
		}
		message := events.Message{Stream: stream, Subject: found.Header.Get("Nats-Subject"), Body: found.Data, Header: found.Header}
		if message.Stored, err = time.Parse(time.RFC3339Nano, found.Header.Get("Nats-Time-Stamp")); err == nil {
			message.Sequence, err = strconv.ParseUint(found.Header.Get("Nats-Sequence"), 10, 64)
		}
		return message, err
	}
`

// Both edits have leaderMessage ask any copy.
var (
	askAnyCopy = edit{"events/jetstream/leader.go", "\tctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)\n\tdefer cancel()\n\tsubject := api", anyCopy +
		"\tctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)\n\tdefer cancel()\n\tsubject := api"}
	anyCopyImports = edit{"events/jetstream/leader.go", "\t\"fmt\"\n", "\t\"fmt\"\n\t\"strconv\"\n\t\"strings\"\n"}
)

// at returns the folder of the tests, seen from here.
func (s suite) at() string { return filepath.Join("../..", cmp.Or(s.folder, "infra/chaos")) }

// No mutation may go stale: each edit's text must be in its file exactly once, and each pattern
// must name a test of its package. The tests themselves are run by task test:mutations.
func TestMutationsFitTheSource(t *testing.T) {
	t.Parallel()
	for _, m := range mutations {
		for _, e := range m.edits {
			text, err := os.ReadFile(filepath.Join("../..", e.file))
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
			} else if n := strings.Count(string(text), e.old); n != 1 {
				t.Errorf("%s: %s contains %d times, not once: %s", m.name, e.file, n, e.old)
			}
		}
		if missing := m.tests.missing(t); len(missing) > 0 {
			t.Errorf("%s: %s has no test named %q", m.name, m.tests.at(), missing)
		}
	}
}

// missing returns the parts of the pattern that match no test of the package.
func (s suite) missing(t *testing.T) (parts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.at(), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for part := range strings.SplitSeq(s.tests, "|") {
		if !strings.Contains(source.String(), "\nfunc "+part) {
			parts = append(parts, part)
		}
	}
	return parts
}
