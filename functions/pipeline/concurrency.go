package pipeline

import "encoding/json"

// Concurrency bounds how many runs of a pipeline are worked on at once. The runs beyond wait, oldest first
// (functions/dispatch/join.Admission).
type Concurrency struct {
	Runs   int    `json:"runs"`
	Newest string `json:"newest"`
}

// What a run that becomes ready does to those that wait before it.
const (
	NewestQueue     = "queue"     // it waits behind them
	NewestSupersede = "supersede" // they end, cancelled, and it takes their place; runs that have begun go on to their end
)

// maxRuns keeps the list of those that run at once short enough for one entry of a kv.
const maxRuns = 1000

// long lets `concurrency: 1` stand for `concurrency: {runs: 1}`.
func (c *Concurrency) long(n node) (node, error) {
	if _, short := n.value.(json.Number); !short {
		return n, nil
	}
	return node{at: n.at, value: []field{{key: "runs", at: n.at, node: n}}}, nil
}

func (c *Concurrency) forms() string {
	return "a number of runs or a mapping like {runs: 1, newest: supersede}"
}

func (r *report) concurrency(c *Concurrency) {
	if c == nil {
		return
	}
	if c.Runs < 1 || c.Runs > maxRuns {
		r.add("concurrency.runs", "expected 1 to %d, got %d", maxRuns, c.Runs)
	}
	r.oneOf("concurrency.newest", c.Newest, NewestQueue, NewestSupersede)
}
