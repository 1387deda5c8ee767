//go:build mutations

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// edit replaces text that a file of the product holds once.
type edit struct{ file, old, with string }

// mutation removes one guard of the product that holds on three servers.
type mutation struct {
	name  string
	tests suite
	edits []edit
}

// suite is what is to notice that: operations of a plan, or tests in which the moment that matters is forced.
type suite struct {
	operations string // pattern of those that the guard is for; "": all
	cluster    string // pattern of names of tests in infra/cluster
	processes  string // pattern of names of tests here
}

// forced is the pattern of names of tests; "": operations.
func (s suite) forced() string { return s.cluster + s.processes }

// The guards that the tests on three servers are to notice the absence of.
var mutations = []mutation{
	{"reads ask any copy, and absence is believed", suite{}, []edit{
		{"events/jetstream/leader.go", "\tbody, err := json.Marshal(request)\n", anyCopy + "\tbody, err := json.Marshal(request)\n"},
		{"events/jetstream/register.go", "\tsubject := \"$KV.\" + r.kv.Bucket() + \".\" + syncKey\n",
			"\tif ctx.Err() == nil {\n\t\treturn nil\n\t}\n\tsubject := \"$KV.\" + r.kv.Bucket() + \".\" + syncKey\n"},
	}},
	{"the log is read from any copy", suite{cluster: "TestReadsSeeWhatWasAcknowledged"}, []edit{
		{"events/jetstream/read.go", "scan.complete, scan.few = !q.Follow, ", "scan.complete, scan.few = false, false && "},
	}},
	{"the job of an ended run is enqueued and worked on", suite{cluster: "TestARunThatIsCancelled"}, []edit{
		{"functions/dispatch/offer.go", "\t\tcase now.State == plan.Ended:\n\t\t\treturn now, d.tell(ctx, now)\n",
			"\t\tcase now.State == plan.Ended:\n\t\t\tnow.State, now.Job = plan.Dispatched, job.ID\n\t\t\treturn now, nil\n"},
		{"functions/dispatch/sweep.go", "errors.Join(s.withdrawTuning(ctx, run), s.withdraw(ctx, run, deployed{}))", "error(nil)"},
		{"functions/worker/history.go", "case events.EndsRunWithoutJob(recorded.Fact):", "case false:"},
	}},
	{"a job is worked on whose outcome was announced", suite{operations: "overwrite"}, []edit{
		{"functions/worker/history.go", "case events.Announces(recorded.Fact, job):", "case false:"},
	}},
	{"a run expires by one clock", suite{cluster: "TestARunOutlivesAJumpOfTheLeadersClock"}, []edit{
		{"functions/plan/decide.go", "!j.Began.IsZero() && now.Own.Sub(j.Began) <= after", "false && after == 0"},
	}},
	{"a worker acts on a lease that it has lost", suite{processes: "TestAZombiePublishesNothing"}, []edit{
		{"functions/worker/attempt.go", "Prove: claim.Prove,", "Prove: func() error { return nil },"},
		{"functions/worker/attempt.go", "err = claim.Hold(ctx, a.work)", "err = a.work(ctx)"},
	}},
}

// anyCopy has leaderMessage ask as nats.go does, which is answered by any server that has a copy.
const anyCopy = `	if s, err := b.js.Stream(ctx, stream); err == nil && request.NextSubject == "" {
		var raw *jetstream.RawStreamMsg
		if request.LastSubject != "" {
			raw, err = s.GetLastMsgForSubject(ctx, request.LastSubject)
		} else {
			raw, err = s.GetMsg(ctx, request.Sequence)
		}
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return events.Message{}, fmt.Errorf("%w: %w", events.ErrNotFound, err)
		}
		if err != nil {
			return events.Message{}, b.explain(ctx, err)
		}
		return events.Message{Stream: stream, Sequence: raw.Sequence, Subject: raw.Subject, Stored: raw.Time.UTC(), Body: raw.Data, Header: raw.Header}, nil
	}
`

// mutationSeeds is how many plans may pass before a mutation counts as unnoticed: what it breaks depends on times.
const mutationSeeds = 3

// Each guard is needed: without it, a test on three servers fails. -seed is the first seed, -jobs the operations of each.
func TestMutationsAreNoticed(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			binary, first, seeds := m.build(t), newPlan(t, *jobsFlag).seed, uint64(mutationSeeds)
			if m.tests.forced() != "" {
				seeds = 1 // they have none
			}
			for i := range seeds {
				if m.noticed(t, binary, first+i) {
					return
				}
			}
			t.Errorf("no test fails without this guard, with %d seeds", seeds)
		})
	}
}

// folder is where the tests are.
func (s suite) folder() string {
	if s.cluster != "" {
		return "../cluster"
	}
	return "."
}

// build compiles the tests on three servers, and with them the product, with the edits.
func (m mutation) build(t *testing.T) (binary string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, texts := t.TempDir(), map[string]string{}
	for _, e := range m.edits {
		file := filepath.Join(root, e.file)
		text, ok := texts[file]
		if !ok {
			read, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = string(read)
		}
		if strings.Count(text, e.old) != 1 {
			t.Fatalf("%s holds %d times, not once: %s", e.file, strings.Count(text, e.old), e.old)
		}
		texts[file] = strings.Replace(text, e.old, e.with, 1)
	}
	replace := map[string]string{}
	for file, text := range texts {
		replace[file] = filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(file, root), "/", "_"))
		if err := os.WriteFile(replace[file], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "mutated.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags", "cluster", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, m.tests.folder())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build with the edits: %v\n%s", err, out)
	}
	return binary
}

// noticed says whether a test of the binary fails, and logs how.
func (m mutation) noticed(t *testing.T, binary string, seed uint64) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	args := []string{"-test.v", "-test.failfast", "-test.timeout", "25m", "-test.run"}
	if forced := m.tests.forced(); forced != "" {
		args = append(args, forced)
	} else {
		args = append(args, "OperationsOnThreeServers", "-only", m.tests.operations, "-seed", fmt.Sprint(seed), "-jobs", fmt.Sprint(*jobsFlag))
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = m.tests.folder()
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if !strings.Contains(string(out), "--- FAIL") {
		t.Fatalf("the tests did not run: %v\n%s", err, out)
	}
	told, _, _ := strings.Cut(string(out), "what was done:") // behind it come the plan and the ends of logs
	t.Logf("noticed with seed %d:\n%s", seed, told)
	return true
}
