package nodes_test

import (
	"bufio"
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// reading is the length of a queue, waiting and claimed jobs together, that was read between two
// moments.
type reading struct {
	from, to time.Time
	length   int
}

// series is what one observer says of a queue, one reading for each change.
type series []reading

func (s *series) add(from, to time.Time, length int) {
	if n := len(*s); n > 0 && (*s)[n-1].length == length {
		(*s)[n-1].to = to
		return
	}
	*s = append(*s, reading{from, to, length})
}

// had reports whether the queue may have had a length at some time between two moments. Between two
// readings it had all lengths between theirs, as it changes by single jobs.
func (s series) had(length int, from, to time.Time) bool {
	for i, r := range s {
		next := r
		if i+1 < len(s) {
			next = s[i+1]
		}
		if !r.from.After(to) && !next.to.Before(from) && min(r.length, next.length) <= length && length <= max(r.length, next.length) {
			return true
		}
	}
	return false
}

// oldest is how old a length may be that KEDA or a dispatcher says, on a machine with much else to
// do. On an idle one, KEDA's are 2 seconds old at most, and a dispatcher's, which it reads every 5
// seconds, 7.
const oldest = 30 * time.Second

// dispatcherPause is how often a dispatcher reads the length of each queue.
const dispatcherPause = 5 * time.Second

// age returns how old a length is that was said between two moments; false if it is older than
// oldest, or never was the queue's.
func (s series) age(length int, from, to time.Time) (time.Duration, bool) {
	for age := time.Duration(0); age <= oldest; age += time.Second / 2 {
		if s.had(length, from.Add(-age), to) {
			return age, true
		}
	}
	return 0, false
}

// observed is what the server, KEDA and a dispatcher have said of a queue.
type observed struct {
	queue                   string
	truth, keda, dispatcher series
	most                    int // jobs at once, as the server says
	err                     error
	length                  atomic.Int64 // now
	redelivered             atomic.Int64 // jobs at once, as the server says
	observers               sync.WaitGroup
}

// observe reads the length of a queue several times a second, from the server that leads it, from
// KEDA's metrics and from a dispatcher's, until ctx ends.
func observe(ctx context.Context, t *testing.T, queue string) *observed {
	t.Helper()
	o := &observed{queue: queue}
	operator := "http://" + podAddress(t, "keda", "app=keda-operator") + ":8080/metrics"
	dispatcher := "http://" + podAddress(t, release, "app.kubernetes.io/component=dispatcher") + ":9090/metrics"
	consumer := stoker.consumer(t, queue)
	read := func(into *series, pause time.Duration, length func() (int, bool)) {
		o.observers.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(pause) {
				began := time.Now()
				if value, ok := length(); ok {
					into.add(began, time.Now(), value)
				}
			}
		})
	}
	read(&o.truth, 20*time.Millisecond, func() (int, bool) {
		info, err := consumer.Info(ctx)
		if err != nil {
			if ctx.Err() == nil {
				o.err = err
			}
			return 0, false
		}
		length := int(info.NumPending) + info.NumAckPending
		o.length.Store(int64(length))
		o.most = max(o.most, length)
		o.redelivered.Store(max(o.redelivered.Load(), int64(info.NumRedelivered)))
		return length, true
	})
	read(&o.keda, 100*time.Millisecond, func() (int, bool) {
		return metric(operator, `scaledObject="stoker-`+queue+`"`, "keda_scaler_metrics_value")
	})
	read(&o.dispatcher, 100*time.Millisecond, func() (int, bool) {
		return metric(dispatcher, `consumer="`+queue+`"`, "stoker_queue_lag", "stoker_queue_running")
	})
	return o
}

// compare checks, after the observation, that all values of KEDA and of the dispatcher were the
// queue's, and that there were enough of both to tell.
func (o *observed) compare(t *testing.T, enough int) {
	t.Helper()
	o.observers.Wait()
	must(t, o.err)
	t.Logf("%s had %d values, at most %d, and %d redelivered jobs at once; KEDA said %d values, a dispatcher %d", o.queue, len(o.truth), o.most, o.redelivered.Load(), len(o.keda), len(o.dispatcher))
	o.compareSeries(t, "KEDA", o.keda, enough)
	o.compareSeries(t, "the dispatcher", o.dispatcher, enough)
}

func (o *observed) compareSeries(t *testing.T, who string, values series, enough int) {
	t.Helper()
	if len(values) < enough {
		t.Errorf("%s said %d values of %s, which is too few", who, len(values), o.queue)
		return
	}
	greatest := time.Duration(0)
	for _, r := range values[1:] { // the first is older than the observation
		age, ok := o.truth.age(r.length, r.from, r.to)
		if !ok {
			t.Errorf("%s says %d at %s, which %s had not within %s", who, r.length, r.from.Format("15:04:05.000"), o.queue, oldest)
		}
		greatest = max(greatest, age)
	}
	t.Logf("what %s said of %s was %s old at most", who, o.queue, greatest)
}

// 1,000 runs wait and train, and workers are killed until the job of one is redelivered: some have
// none at that moment. The lag that KEDA scales by was the queue's all the while.
func TestKEDAsLagIsTheQueueAtEveryMoment(t *testing.T) {
	const count = 1000
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Minute)
	defer stop()
	queue := observe(ctx, t, "train-warm")
	published, dir := make(chan error, 1), t.TempDir()
	go func() { published <- stoker.startAll(ctx, dir, "warm", "lag-", count, 0) }()
	eventually(t, 2*time.Minute, "20 jobs wait", func() bool { return queue.length.Load() > 20 })
	killed := time.Time{}
	eventually(t, 2*time.Minute, "the job of a killed worker is redelivered", func() bool {
		if queue.redelivered.Load() == 0 && time.Since(killed) > 10*time.Second {
			killPod(t, release, workersOf("warm"))
			killed = time.Now()
		}
		return queue.redelivered.Load() > 0
	})
	must(t, <-published)
	eventually(t, 20*time.Minute, "the queue is empty", func() bool { return queue.length.Load() == 0 })
	stop()
	queue.compare(t, 10)
}

// In a search the job that began it waits for the trials of others, without a slot: it stays on
// its queue until the search is over, and no pod is started for it again.
func TestKEDAsLagIsTheQueueDuringASearch(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	pods := watchPods(t, release, workersOf("cpu"))
	searches, trials := observe(ctx, t, "tune-cpu"), observe(ctx, t, "trial-cpu")
	stoker.start(t, "search", "one")
	eventually(t, 10*time.Minute, "the search has a model", func() bool { return stoker.runs(t, "search")["one"] == "trained" })
	eventually(t, 2*time.Minute, "no pod is left", func() bool { return pods.running() == 0 })
	time.Sleep(2 * dispatcherPause) // the dispatcher has read both queues since
	stop()
	searches.compare(t, 2)
	trials.compare(t, 2)
	if searches.most != 1 || trials.most == 0 {
		t.Errorf("%d jobs of searches and %d of trials at once, want one, and some", searches.most, trials.most)
	}
	t.Logf("pods: %s", pods.ends())
	started := map[string]int{}
	for _, pod := range pods.all() {
		started[pod.function]++
		if pod.exit != 0 {
			t.Errorf("pod %s ended with %d", pod.name, pod.exit)
		}
	}
	t.Logf("pods by function: %v", started)
	if started["tune"] != 1 || started["train"] != 1 || started["trial"] != 3 {
		t.Errorf("pods by function: %v, want one for the search, one for the training, and three for the others of four trials at once", started)
	}
}

// consumer returns the queue as its leader on the bus knows it.
func (i *installation) consumer(t *testing.T, queue string) jetstream.Consumer {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(filepath.Join(i.dir, "operator.nk"))
	must(t, err)
	conn, err := nats.Connect("tls://nats.nats.svc:4222", key, nats.RootCAs(api.Authority()), nats.CustomInboxPrefix("_INBOX.operator"))
	must(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(t, err)
	consumer, err := js.Consumer(t.Context(), "JOBS", queue)
	must(t, err)
	return consumer
}

// metric returns the sum of the metrics of a page with these names and a label; false if one is
// missing, as the pod may be being replaced.
func metric(page, label string, names ...string) (sum int, found bool) {
	answer, err := http.Get(page)
	if err != nil {
		return 0, false
	}
	defer answer.Body.Close()
	missing := len(names)
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		line := lines.Text()
		name, _, _ := strings.Cut(line, "{")
		if !slices.Contains(names, name) || !strings.Contains(line, label) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, false
		}
		sum += int(value)
		missing--
	}
	return sum, missing == 0
}
