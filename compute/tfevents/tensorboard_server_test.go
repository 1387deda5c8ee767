package tfevents_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// A TensorBoard server, with its reader in Python and with the faster one in Rust, returns our runs
// over HTTP. Its log directory is the session's own, or the one above; only in the latter case does
// it find a session's metrics in runs below.
func TestATensorBoardServerShowsTheRuns(t *testing.T) {
	t.Parallel()
	dir := wholeLog(t)
	for name, in := range map[string]serverInput{
		"python": {Dir: dir, Run: ".", Train: "train", Fast: false},
		"rust":   {Dir: filepath.Dir(dir), Run: "model_run", Train: "model_run/train", Fast: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got served
			tftest.Run(t, server, in, &got)
			var read [][2]float64
			for _, p := range got.Losses {
				read = append(read, [2]float64{p[1], p[2]})
			}
			if diff := cmp.Diff(losses, read); diff != "" {
				t.Errorf("steps and losses: written - shown +\n%s", diff)
			}
			if len(got.Text) != 1 || len(got.Histogram) != 5 {
				t.Errorf("text %v, %d histograms; expected one text, a histogram of each step", got.Text, len(got.Histogram))
			}
			got.checkSession(t, in.Run)
		})
	}
}

type serverInput struct {
	Dir, Run, Train string
	Fast            bool
}

// served is the answer of the server's HTTP API.
type served struct {
	Losses    [][3]float64 // time, step, value
	Text      []map[string]any
	Histogram [][]any
	Columns   []string
	Groups    []struct {
		Name         string
		HParams      map[string]any
		MetricValues []struct {
			Name  struct{ Group, Tag string }
			Value float64
		}
		Sessions []struct{ Status string }
	}
}

func (s served) checkSession(t *testing.T, run string) {
	t.Helper()
	if diff := cmp.Diff([]string{"optimizer", "rate", "shuffle", "units"}, s.Columns); diff != "" {
		t.Error(diff)
	}
	if len(s.Groups) != 1 || s.Groups[0].Name != "trial 1" || s.Groups[0].Sessions[0].Status != "STATUS_SUCCESS" {
		t.Fatalf("session groups: %+v", s.Groups)
	}
	want := map[string]any{"rate": 0.5, "units": 8.0, "optimizer": "adam", "shuffle": true}
	if diff := cmp.Diff(want, s.Groups[0].HParams); diff != "" {
		t.Error(diff)
	}
	metrics := map[string]float64{}
	for _, m := range s.Groups[0].MetricValues {
		metrics[m.Name.Group+"/"+m.Name.Tag] = m.Value
	}
	expected := map[string]float64{"/final_loss": 0.25}
	if run != "." {
		expected["validation/epoch_loss"] = 0.125
	}
	if diff := cmp.Diff(expected, metrics); diff != "" {
		t.Errorf("metrics of the session: %s", diff)
	}
}

// server starts TensorBoard on a free port and sends the requests of its web page.
const server = `
import json, time, urllib.parse, urllib.request
from tensorboard import program
def check(input):
    board = program.TensorBoard()
    board.configure(argv=["tensorboard", "--logdir", input["Dir"], "--port", "0", "--host", "localhost",
                          "--load_fast", "true" if input["Fast"] else "false", "--reload_interval", "1"])
    url = board.launch()
    def get(path, **query):
        with urllib.request.urlopen(url + "data/plugin/" + path + "?" + urllib.parse.urlencode(query), timeout=20) as r:
            return json.load(r)
    def post(path, body):
        request = urllib.request.Request(url + "data/plugin/" + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as r:
            return json.load(r)
    run, train = input["Run"], input["Train"]
    def loaded():
        if not {run, train} <= set(get("scalars/tags")) or run not in get("text/tags") or train not in get("histograms/tags"):
            return False
        return get("scalars/scalars", run=train, tag="batch_loss")[-1][2] == 5 # the last of the last file
    for _ in range(200):
        if loaded():
            break
        time.sleep(0.1)
    experiment = post("hparams/experiment", {"experimentName": ""})
    columns = [{"hparam": h["name"], "includeInResult": True} for h in experiment["hparamInfos"]]
    columns += [{"metric": m["name"], "includeInResult": True} for m in experiment["metricInfos"]]
    groups = post("hparams/session_groups", {"colParams": columns, "allowedStatuses": ["STATUS_SUCCESS"], "startIndex": 0,
                                             "sliceSize": 10, "includeMetrics": True})
    return {
        "losses": get("scalars/scalars", run=train, tag="batch_loss"),
        "text": get("text/text", run=run, tag="config"),
        "histogram": get("histograms/histograms", run=train, tag="dense/kernel/histogram"),
        "columns": sorted(h["name"] for h in experiment["hparamInfos"]),
        "groups": groups["sessionGroups"],
    }`
