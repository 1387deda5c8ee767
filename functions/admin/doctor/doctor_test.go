package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/local/bucket/buckettest"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// examined returns the findings of an examination, one per line.
func examined(t *testing.T, limit time.Duration, checks ...Check) (lines []string, faults int) {
	t.Helper()
	faults = Examine(t.Context(), limit, checks, func(f Finding) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s | %s", f.Level, f.Check, f.Found, f.Do)))
	})
	return lines, faults
}

func TestFindingsComeInTheOrderOfTheChecks(t *testing.T) {
	t.Parallel()
	last := make(chan struct{})
	first := Func("first", func(context.Context) []Finding { <-last; return []Finding{Fine("late"), Wrong("run", "broken")} })
	second := Func("second", func(context.Context) []Finding {
		close(last)
		return []Finding{{Check: "own", Level: Warning, Found: "odd"}}
	})
	lines, faults := examined(t, time.Minute, first, second)
	if got := strings.Join(lines, "\n"); got != "ok first: late |\nfault first: broken | run\nwarning own: odd |" || faults != 1 {
		t.Errorf("%d faults in\n%s", faults, got)
	}
}

func TestACheckWithoutAnAnswerIsAFault(t *testing.T) {
	t.Parallel()
	stuck := Func("stuck", func(ctx context.Context) []Finding { <-ctx.Done(); return nil })
	if lines, faults := examined(t, time.Millisecond, stuck); faults != 1 || !strings.HasPrefix(lines[0], "fault stuck: no answer within 1ms") {
		t.Error(lines)
	}
}

func TestTheBusIsExamined(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		found jetstream.Surveyed
		err   error
		want  string
	}{
		"away":       {jetstream.Surveyed{}, errors.New("no servers"), "fault bus: no servers | start one"},
		"no streams": {jetstream.Surveyed{JetStream: jetstream.ErrNoJetStream}, nil, "fault jetstream: JetStream is off for this account"},
		"missing":    {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Err: events.ErrNotFound}}}, nil, "fault stream EVENTS: is missing | `stoker streams apply` creates it"},
		"different": {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Differences: []jetstream.Difference{{Field: "max_age", Defined: "0s", Is: "1h0m0s"}}}}},
			nil, "fault stream EVENTS: max_age is 1h0m0s, and defined as 0s"},
		"one copy": {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Replicas: 1, Clustered: true}}}, nil, "warning stream EVENTS: has one copy in a cluster"},
		"failing": {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "consumer dispatch of EVENTS", Redelivered: 3, Oldest: "message 7, events.x"}}}, nil,
			"warning consumer dispatch of EVENTS: 3 messages are delivered again and again, because they can't be handled; the oldest is message 7, events.x"},
		"unread": {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "consumer dispatch of EVENTS", Unread: true, Waiting: 2}}}, nil,
			"warning consumer dispatch of EVENTS: no dispatcher is reading it: 2 events wait, and no run is started | start one: `stoker dispatch`"},
		"full":             {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Bytes: jetstream.Usage{Used: 950, Limit: 1000}}}}, nil, "warning stream EVENTS: is nearly full: 950 bytes of 1000 bytes used"},
		"full disk":        {jetstream.Surveyed{Storage: jetstream.Usage{Used: 1 << 30, Limit: 1 << 30}}, nil, "warning jetstream: on; storage 1.0 GiB of 1.0 GiB used"},
		"may not":          {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Err: events.ErrRefused}}}, nil, "warning streams: no permission to read stream EVENTS"},
		"clock":            {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Clock: -time.Minute}}}, nil, "warning clock of the bus: 1m0s behind this machine's"},
		"far clock":        {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Clock: time.Hour}}}, nil, "fault clock of the bus: 1h0m0s ahead of this machine's"},
		"exact":            {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Clock: time.Millisecond}}}, nil, "ok clock of the bus: the same as this machine's"},
		"a rounded answer": {jetstream.Surveyed{Parts: []jetstream.Part{{Name: "stream EVENTS", Clock: -1100 * time.Millisecond}}}, nil, "ok clock of the bus: the same as this machine's"},
		"everything":       {jetstream.Surveyed{TLS: true, Server: "n1", Cluster: "c", Version: "2", Parts: []jetstream.Part{{Name: "x"}}}, nil, "ok bus: server n1 of cluster c, version 2, with TLS"},
	} {
		bus := Bus(func(context.Context) (jetstream.Surveyed, error) { return tc.found, tc.err }, func(error) string { return "start one" })
		if lines, _ := examined(t, time.Minute, bus); !strings.Contains("\n"+strings.Join(lines, "\n"), "\n"+tc.want) {
			t.Errorf("%s:\n%s\nwant %s", name, strings.Join(lines, "\n"), tc.want)
		}
	}
}

// deaf is a store that ignores conditions.
type deaf struct{ storage.Store }

func (d deaf) PutIf(ctx context.Context, ref storage.Ref, body []byte, _ storage.Condition) (storage.Object, error) {
	return d.Put(ctx, ref, strings.NewReader(string(body)), int64(len(body)))
}

func (d deaf) String() string { return "deaf store" }

func TestTheStoreIsExamined(t *testing.T) {
	t.Parallel()
	store, root := buckettest.New(t)
	lend := func(store storage.Store, bucket string) func(context.Context, func(context.Context, storage.Store, storage.Ref) error) error {
		return func(ctx context.Context, do func(context.Context, storage.Store, storage.Ref) error) error {
			return do(ctx, store, storage.Ref{Bucket: bucket})
		}
	}
	away := func(context.Context, func(context.Context, storage.Store, storage.Ref) error) error {
		return errors.New("no credentials")
	}
	for name, tc := range map[string]struct {
		with func(context.Context, func(context.Context, storage.Store, storage.Ref) error) error
		want []string
	}{
		"well":           {lend(store, root.Bucket), []string{"ok store: " + store.String() + " reads, writes and honors conditions in " + root.String(), "ok clock of the store: "}},
		"no bucket":      {lend(store, "nowhere"), []string{"fault store: ", "| make the bucket nowhere"}},
		"no conditions":  {lend(deaf{store}, root.Bucket), []string{"fault store: deaf store does not honor conditional writes", "| use a store that honors If-None-Match"}},
		"no credentials": {away, []string{"fault store: no credentials"}},
	} {
		lines, _ := examined(t, time.Minute, Store(tc.with))
		for _, want := range tc.want {
			if !strings.Contains(strings.Join(lines, "\n"), want) {
				t.Errorf("%s:\n%s\nwant %s", name, strings.Join(lines, "\n"), want)
			}
		}
	}
	for object, err := range store.List(t.Context(), root) {
		t.Errorf("it left %v, %v", object, err)
	}
}

// readOnly is a store that refuses to write, and to read a bucket.
type readOnly struct {
	storage.Store
	refused string
}

func (s readOnly) List(ctx context.Context, prefix storage.Ref) iter.Seq2[storage.Object, error] {
	if prefix.Bucket == s.refused {
		return func(yield func(storage.Object, error) bool) { yield(storage.Object{}, storage.ErrDenied) }
	}
	return s.Store.List(ctx, prefix)
}

func (readOnly) Put(context.Context, storage.Ref, io.Reader, int64) (storage.Object, error) {
	return storage.Object{}, storage.ErrDenied
}

func (readOnly) PutIf(context.Context, storage.Ref, []byte, storage.Condition) (storage.Object, error) {
	return storage.Object{}, storage.ErrDenied
}

func TestOfTheStoreOnlyWhatARoleMayUseIsExamined(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	for _, tc := range []struct {
		role    access.Role
		refused string // bucket
		want    string
	}{
		{access.Dispatcher, "models", "ok store: role dispatcher does not use it"},
		{access.Notifier, "models", "ok store: role notifier does not use it"},
		{access.Console, "", "ok store: "},
		{access.Console, "models", "fault store: "},
		{access.Exporter, "", "ok store: "},
		{access.Upstream, "models", "ok store: "},
		{access.Bridge, "models", "ok store: "},
		{access.Worker, "", "fault store: "},
		{access.Operator, "", "fault store: "},
	} {
		lines, _ := examined(t, time.Minute, StoreOf(tc.role, func(ctx context.Context, do func(context.Context, storage.Store, storage.Ref) error) error {
			return do(ctx, readOnly{store, tc.refused}, storage.Ref{Bucket: "models"})
		}))
		if len(lines) != 1 || !strings.HasPrefix(lines[0], tc.want) {
			t.Errorf("role %s, bucket %q refused: %q, want %q", tc.role, tc.refused, lines, tc.want)
		}
	}
}

func TestThisMachine(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(secret, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lines, faults := examined(t, time.Minute, Space("jobs", filepath.Join(t.TempDir(), "not", "there")), Files(), Processor(), Secrets("settings file", secret), Secrets("none", ""))
	all := strings.Join(lines, "\n")
	for _, want := range []string{"disk for jobs: ", " free", "open files: ", "processor: ", "warning settings file: " + secret + " holds a secret, and other users can read it | chmod 600 " + secret} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nwant %s", all, want)
		}
	}
	if faults != 0 || len(lines) != 4 {
		t.Errorf("%d faults in\n%s", faults, all)
	}
}

func TestGPUs(t *testing.T) {
	t.Parallel()
	there, nowhere := t.TempDir(), filepath.Join(t.TempDir(), "nvidia0")
	for name, tc := range map[string]struct {
		err    error
		driver string
		want   string
	}{
		"one":        {nil, there, "ok gpu: H100"},
		"none":       {fs.ErrNotExist, nowhere, "ok gpu: none; builtin modules train on the CPU"},
		"no program": {fs.ErrNotExist, there, "warning gpu: there is a GPU, and no stoker-cuda"},
		"broken":     {errors.New("driver too old"), there, "warning gpu: driver too old"},
	} {
		check := gpuBy(func(context.Context) (string, error) { return "H100", tc.err }, tc.driver)
		if lines, _ := examined(t, time.Minute, check); !strings.HasPrefix(lines[0], tc.want) {
			t.Errorf("%s: %s", name, lines)
		}
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	tensorflow := python.Package{Package: "tensorflow", Version: "2.21.0"}
	for name, tc := range map[string]struct {
		packages []python.Package
		want     string
	}{
		"all there": {[]python.Package{tensorflow}, "ok : Python 3.11, TensorFlow 2.21.0, a GPU: /venv/bin/python"},
		"one is missing": {[]python.Package{tensorflow, {Package: "tfx-bsl", Problem: "missing", Add: "pip install tfx-bsl"}},
			"warning : tfx-bsl: missing; modules that import it fail"},
		"no TensorFlow": {[]python.Package{{Package: "tensorflow", Problem: "broken\nsecond line"}}, "warning : no TFX module runs with /venv/bin/python: tensorflow: broken"},
	} {
		var lines []string
		for _, f := range ofPackages(python.Checked{Python: "3.11", Interpreter: "/venv/bin/python", GPUs: 1, Packages: tc.packages}) {
			lines = append(lines, fmt.Sprintf("%s : %s", f.Level, f.Found))
		}
		if !strings.Contains(strings.Join(lines, "\n"), tc.want) {
			t.Errorf("%s: %q", name, lines)
		}
	}
}

func ExampleExamine() {
	weather := Func("weather", func(context.Context) []Finding { return []Finding{Warn("take an umbrella", "rain")} })
	faults := Examine(context.Background(), time.Minute, []Check{weather}, func(f Finding) { fmt.Println(f.Level, f.Check, f.Found, "->", f.Do) })
	fmt.Println(faults, "faults")
	// Output:
	// warning weather rain -> take an umbrella
	// 0 faults
}
