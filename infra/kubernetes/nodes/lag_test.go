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

// KEDA's lag, the queue's own count and the metrics of a dispatcher are read several times a second
// while 1,000 runs wait and train, and a worker that has a job is killed. Each value of KEDA's
// metric and of ours was the queue's within the time that it may be old.
func TestKEDAsLagIsTheQueueAtEveryMoment(t *testing.T) {
	const count, queue = 1000, "train-warm"
	const kedaAge, ownAge = 2 * time.Second, 7 * time.Second
	operator := "http://" + podAddress(t, "keda", "app=keda-operator") + ":8080/metrics"
	dispatcher := "http://" + podAddress(t, release, "app.kubernetes.io/component=dispatcher") + ":9090/metrics"
	consumer := stoker.consumer(t, queue)

	published, dir := make(chan error, 1), t.TempDir()
	go func() { published <- stoker.startAll(t.Context(), dir, "warm", "lag-", count, 0) }()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Minute)
	defer stop()
	var truth, kedas, ours series
	var observers sync.WaitGroup
	observe := func(into *series, read func() (int, bool)) {
		observers.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
				began := time.Now()
				if value, ok := read(); ok {
					into.add(began, time.Now(), value)
				}
			}
		})
	}
	observe(&kedas, func() (int, bool) {
		return metric(operator, `scaledObject="stoker-`+queue+`"`, "keda_scaler_metrics_value")
	})
	observe(&ours, func() (int, bool) {
		return metric(dispatcher, `consumer="`+queue+`"`, "stoker_queue_lag", "stoker_queue_running")
	})
	killed, all := false, false
	for length := 1; !all || length > 0; time.Sleep(20 * time.Millisecond) {
		began := time.Now()
		info, err := consumer.Info(ctx)
		must(t, err)
		length = int(info.NumPending) + info.NumAckPending
		truth.add(began, time.Now(), length)
		if !killed && length > 20 {
			killed = true
			killPod(t, release, workersOf("warm"))
		}
		select {
		case err := <-published:
			must(t, err)
			all = true
		default:
		}
	}
	stop()
	observers.Wait()
	t.Logf("the queue had %d values, KEDA %d, a dispatcher's metrics %d", len(truth), len(kedas), len(ours))
	if len(kedas) < 10 || len(ours) < 10 {
		t.Fatal("that is too few")
	}
	for name, s := range map[string]struct {
		values series
		age    time.Duration
	}{"KEDA": {kedas, kedaAge}, "the dispatcher": {ours, ownAge}} {
		wrong := 0
		for _, r := range s.values[1:] { // the first is older than the observation
			if !truth.had(r.length, r.from.Add(-s.age), r.to) {
				wrong++
				t.Logf("%s says %d at %s, which the queue had not within %s", name, r.length, r.from.Format("15:04:05.000"), s.age)
			}
		}
		if wrong > 0 {
			t.Errorf("%d of %d values of %s were not the queue's", wrong, len(s.values), name)
		}
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
