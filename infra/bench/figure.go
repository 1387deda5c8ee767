package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// figure is one number that was measured. Its JSON is one line of `-o json`.
type figure struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`
	Ours     float64  `json:"ours"`
	Peer     *float64 `json:"peer"` // null: no peer
	PeerName string   `json:"peer_name"`
	// Above 1 Stoker is better: peer / ours, of rates ours / peer; null without a peer.
	Ratio   *float64 `json:"ratio"`
	Spread  float64  `json:"spread"` // the rounds' 90th percentile minus their 10th, in Unit
	Rounds  int      `json:"rounds"`
	Verdict string   `json:"verdict,omitempty"` // set if more than the ratio is compared
	// Both ends of the 95 % interval of Ours; none if it was not estimated.
	Interval []float64 `json:"interval,omitempty"`

	goal string // as text for the table; "" for a figure that explains another
}

// Units of figures.
const (
	milliseconds = "ms"
	microseconds = "µs"
	cpuSeconds   = "CPU-s"
	objects      = "allocations"
	megabytes    = "MB" // 1e6 bytes
	fraction     = "of 1"
	perSecond    = "/s"
	times        = "times"

	bestValue            = "best value" // of a function, over many searches
	regret               = "regret"     // 0: the best point, 1: the median one
	meanRank             = "mean rank"  // over many functions
	cpuSecondsPerMillion = "CPU-s/million rows"
	perCPUSecond         = "examples/CPU-s"
	gigaflopsPerCPU      = "GFLOP/CPU-s" // 10^9 additions and multiplications
)

// noPeer is the name of the peer of a figure that has none.
const noPeer = "none"

// rounded keeps four significant digits: no clock here is good for more.
func rounded(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Abs(x)))) - 3)
	if unit < 1 {
		// A division by a whole number ends in the shortest decimal.
		return math.Round(x/unit) / math.Round(1/unit)
	}
	return math.Round(x/unit) * unit
}

// writer finds how figures are written in a format.
func writer(format string) (func(io.Writer, []figure) error, error) {
	switch format {
	case "table":
		return writeTable, nil
	case "json":
		return writeLines, nil
	}
	return nil, fmt.Errorf("-o %s: expected table or json", format)
}

func writeLines(w io.Writer, figures []figure) error {
	encoder := json.NewEncoder(w) // ends each value with a newline
	for _, f := range figures {
		if err := encoder.Encode(f); err != nil {
			return fmt.Errorf("write figure %s: %w", f.Name, err)
		}
	}
	return nil
}

func writeTable(w io.Writer, figures []figure) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tOURS\tUNIT\tGOAL\tSPREAD\tROUNDS\tPEER\tRATIO")
	for _, f := range figures {
		number, goal, peer, ratio := number, f.goal, f.PeerName, ""
		if f.Verdict != "" {
			goal = f.Verdict
		}
		if f.Unit == bestValue {
			number = precise
		}
		if f.Peer != nil {
			peer = number(*f.Peer) + " " + f.PeerName
		}
		if f.Ratio != nil {
			ratio = number(*f.Ratio)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			f.Name, number(f.Ours), f.Unit, goal, number(f.Spread), f.Rounds, peer, ratio)
	}
	return table.Flush()
}

// writeList writes the name, unit, peer and goal of each figure without measuring it.
func writeList(w io.Writer, parts []part) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PART\tFIGURE\tUNIT\tGOAL\tPEER")
	for _, p := range parts {
		for _, g := range p.groups {
			for _, s := range g.figures {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", p.name, s.name, s.unit, s.goal, s.peerNames())
			}
		}
	}
	return table.Flush()
}

// number shows three significant digits.
func number(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
