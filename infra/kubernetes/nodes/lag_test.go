package nodes_test

import (
	"bufio"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// reading is the length of a queue at a time, waiting and claimed jobs together.
type reading struct {
	at    time.Time
	value int
}

// series is what one observer says of a queue.
type series []reading

// add adds a reading unless it repeats the last one.
func (s *series) add(at time.Time, value int) {
	if n := len(*s); n == 0 || (*s)[n-1].value != value {
		*s = append(*s, reading{at, value})
	}
}

// had reports whether the series had a value at some time from one moment to another.
func (s series) had(value int, from, to time.Time) bool {
	for i, r := range s {
		until := to
		if i+1 < len(s) {
			until = s[i+1].at
		}
		if r.value == value && !r.at.After(to) && !until.Before(from) {
			return true
		}
	}
	return false
}

// KEDA's lag, the queue's own count and the metrics of a dispatcher are read ten times a second
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
	var truth, kedas, ours series
	deadline, killed, all := time.Now().Add(20*time.Minute), false, false
	for length := 1; !all || length > 0; time.Sleep(50 * time.Millisecond) {
		info, err := consumer.Info(t.Context())
		must(t, err)
		length = int(info.NumPending) + info.NumAckPending
		truth.add(time.Now(), length)
		if value, ok := metric(t, operator, "keda_scaler_metrics_value", `scaledObject="stoker-`+queue+`"`); ok {
			kedas.add(time.Now(), value)
		}
		lag, known := metric(t, dispatcher, "stoker_queue_lag", `consumer="`+queue+`"`)
		running, _ := metric(t, dispatcher, "stoker_queue_running", `consumer="`+queue+`"`)
		if known {
			ours.add(time.Now(), lag+running)
		}
		if !killed && length > 100 {
			killed = true
			killPod(t, release, workersOf("warm"))
		}
		select {
		case err := <-published:
			must(t, err)
			all = true
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the queue isn't empty")
		}
	}
	t.Logf("the queue had %d values, KEDA %d, a dispatcher's metrics %d", len(truth), len(kedas), len(ours))
	if len(kedas) < 10 || len(ours) < 10 {
		t.Error("that is too few")
	}
	for name, s := range map[string]struct {
		values series
		age    time.Duration
	}{"KEDA": {kedas, kedaAge}, "the dispatcher": {ours, ownAge}} {
		wrong := 0
		for _, r := range s.values[1:] { // the first is older than the observation
			if !truth.had(r.value, r.at.Add(-s.age), r.at) {
				wrong++
				t.Logf("%s says %d at %s, which the queue had not within %s", name, r.value, r.at.Format("15:04:05.000"), s.age)
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

// metric returns the value of the first metric of a page with that name and a label.
func metric(t *testing.T, page, name, label string) (value int, found bool) {
	t.Helper()
	answer, err := http.Get(page)
	if err != nil {
		return 0, false // the pod is being replaced
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, label) {
			number, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			must(t, err)
			return int(number), true
		}
	}
	return 0, false
}
