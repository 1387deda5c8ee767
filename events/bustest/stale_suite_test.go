package bustest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/events/bustest"
)

// The suite requires no more of a bus than its contract: it passes on copies that lag.
func TestStale(t *testing.T) {
	t.Parallel()
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	runStale(t, seeds, bustest.OnlyByContract)
}

func runStale(t *testing.T, seeds uint64, staleness bustest.Staleness) {
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bustest.RunInBubble(t, func(*testing.T) bustest.Bus {
				stale := bustest.NewStale(bustest.NewMemory(bustest.Lease))
				return stale.Client(rand.New(rand.NewPCG(seed, 1)), staleness)
			})
		})
	}
}

// stalenessVariable makes this program run only the suite, on a client with these old reads.
const stalenessVariable = "STOKER_TEST_STALENESS"

var failedTest = regexp.MustCompile(`(?m)^ +--- FAIL: TestTheSuiteFindsReadsThatBreakTheirContract/seed_\d+/(\S+)`)

// The suite fails on a bus one of whose linearizable reads is old. It runs in a separate process,
// without the tests of large messages, which take most of its time.
func TestTheSuiteFindsReadsThatBreakTheirContract(t *testing.T) {
	t.Parallel()
	if staleness, err := strconv.ParseUint(os.Getenv(stalenessVariable), 10, 0); err == nil {
		runStale(t, 5, bustest.Staleness(staleness))
		return
	}
	for name, test := range map[string]struct {
		staleness bustest.Staleness
		fails     string // a test that fails, at least
	}{
		"Get":       {bustest.OldGets, "every_KV_bucket_is_there,_and_by_itself"},
		"Revision":  {bustest.OldRevisions, "an_older_revision_of_a_pipeline_can_be_read"},
		"Read":      {bustest.OldReads, "events_are_read_by_kind,_pipeline,_run_and_sequence"},
		"ReadStudy": {bustest.OldStudies, "a_study's_log_is_read_on_from_anywhere"},
		"Queued":    {bustest.OldQueue, "a_job_can_be_seen_until_it_has_left_the_queue"},
		"any copy":  {bustest.AnyCopy, "no_update_is_lost_among_many"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheSuiteFindsReadsThatBreakTheirContract$", "-test.skip=//too_large", "-test.timeout=2m")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", stalenessVariable, test.staleness))
			output, err := cmd.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
				t.Fatalf("the suite ended with %v, want it to fail:\n%s", err, output)
			}
			var failed []string
			for _, match := range failedTest.FindAllSubmatch(output, -1) {
				failed = append(failed, string(match[1]))
			}
			slices.Sort(failed)
			failed = slices.Compact(failed)
			t.Logf("%d tests fail: %q", len(failed), failed)
			if !slices.Contains(failed, test.fails) {
				t.Errorf("these tests fail: %q; want %q among them", failed, test.fails)
			}
		})
	}
}
