//go:build keda

package scale_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/infra/scale"
)

// Scales by the decisions of KEDA's own scaler and KEDA's own code for ScaledJobs, with which this
// package has to agree.
func TestWorkersComeAndGoAsKEDADecides(t *testing.T) {
	t.Parallel()
	k := startKEDA(t)
	walk(t, k)
	t.Logf("KEDA was asked %d times", k.asked)
}

// keda is the process of infra/keda.
type keda struct {
	in    *json.Encoder
	out   *bufio.Scanner
	asked int
}

func startKEDA(t *testing.T) *keda {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "keda")
	if out, err := exec.CommandContext(t.Context(), "../keda/build.sh", binary).CombinedOutput(); err != nil {
		t.Fatalf("build KEDA's scaler: %v\n%s", err, out)
	}
	cmd := exec.Command(binary)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = io.Discard // its log
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); must(t, cmd.Wait()) })
	return &keda{in: json.NewEncoder(in), out: bufio.NewScanner(out)}
}

// question and answer are those of infra/keda.
type question struct {
	Monitor  string `json:"monitor"`
	Account  string `json:"account"`
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	PerJob   int64  `json:"per_job"`
	Max      int64  `json:"max"`
	Running  int64  `json:"running"`
	Standing int64  `json:"standing"`
}

type answer struct {
	Lag    int64  `json:"lag"`
	Active bool   `json:"active"`
	Start  int64  `json:"start"`
	Error  string `json:"error"`
}

func (k *keda) ask(t *testing.T, q question) (a answer) {
	t.Helper()
	k.asked++
	must(t, k.in.Encode(q))
	if !k.out.Scan() {
		t.Fatalf("KEDA's scaler has ended: %v", k.out.Err())
	}
	must(t, json.Unmarshal(k.out.Bytes(), &a))
	if a.Error != "" {
		t.Fatalf("KEDA's scaler: %s", a.Error)
	}
	return a
}

// decide asks both for their decision, and also for that with one standing worker. If the lag
// changed between two questions, it asks again.
func (k *keda) decide(t *testing.T, c scale.Consumer, s scale.ScaledJob, running int64) (lag, start int64) {
	t.Helper()
	q := question{
		Monitor: c.Monitor, Account: "$G", Stream: c.Stream, Consumer: c.Name, PerJob: s.PerJob, Max: s.Max, Running: running,
	}
	above, aboveOne := q, s
	above.Standing, aboveOne.Standing = 1, 1
	for {
		before, started := ours{}.decide(t, c, s, running)
		theirs, theirsAbove := k.ask(t, q), k.ask(t, above)
		after, _ := ours{}.decide(t, c, s, running)
		if before != after {
			continue
		}
		if theirs.Lag != before || theirs.Start != started || theirs.Active != (before > 0) {
			t.Errorf("%s with %d running: KEDA says lag %d, active %t, start %d; want lag %d, start %d",
				c.Name, running, theirs.Lag, theirs.Active, theirs.Start, before, started)
		}
		if want := aboveOne.Start(before, running); theirsAbove.Lag != before || theirsAbove.Start != want {
			t.Errorf("%s with %d running above a standing worker: KEDA says lag %d, start %d; want lag %d, start %d",
				c.Name, running, theirsAbove.Lag, theirsAbove.Start, before, want)
		}
		return theirs.Lag, theirs.Start
	}
}
