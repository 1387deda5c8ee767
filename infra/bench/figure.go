package main

import "math"

// figure is one number that was measured. Its JSON is one line of `-o json`.
type figure struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`
	Ours     float64  `json:"ours"`
	Peer     *float64 `json:"peer"` // null: no peer
	PeerName string   `json:"peer_name"`
	Ratio    *float64 `json:"ratio"`  // above 1 Stoker takes less: peer / ours, of rates ours / peer; null without a peer
	Spread   float64  `json:"spread"` // of the rounds: their 90th percentile less their 10th, in Unit
	Rounds   int      `json:"rounds"`
	Verdict  string   `json:"verdict,omitempty"` // if ours and the peer's are compared by more than their ratio

	goal string // what we set out for, as text for the table; "" for a figure that explains another
}

// Units of figures.
const (
	milliseconds = "ms"
	cpuSeconds   = "CPU-s"
	microseconds = "µs"
	objects      = "allocations"
	megabytes    = "MB" // 1e6 bytes
	fraction     = "of 1"
	perSecond    = "/s"
	times        = "times"

	bestValue            = "best value" // of a function, over many searches
	cpuSecondsPerMillion = "CPU-s/million rows"
	perCPUSecond         = "examples/CPU-s"
)

// noPeer says that there was no peer.
const noPeer = "none"

// alone makes a figure that has no peer.
func alone(name, unit string, ours float64, s samples, goal string) figure {
	return figure{Name: name, Unit: unit, Ours: rounded(ours), PeerName: noPeer, Spread: rounded(s.spread()), Rounds: len(s), goal: goal}
}

// against compares a cost with that of a peer.
func (f figure) against(peerName string, peer float64) figure {
	ratio := rounded(peer / f.Ours)
	f.Peer, f.PeerName, f.Ratio = &peer, peerName, &ratio
	return f
}

// faster compares a rate with that of a peer.
func (f figure) faster(peerName string, peer float64) figure {
	ratio := rounded(f.Ours / peer)
	f.Peer, f.PeerName, f.Ratio = &peer, peerName, &ratio
	return f
}

// comparedWith compares a rate with that of a peer, measured in the same rounds: the ratio is the
// median of theirs.
func (f figure) comparedWith(peerName string, ours, peer samples) figure {
	var ratios samples
	for i := range ours {
		ratios = append(ratios, ours[i]/peer[i])
	}
	theirs, ratio := rounded(peer.quantile(0.5)), rounded(ratios.quantile(0.5))
	f.Peer, f.PeerName, f.Ratio = &theirs, peerName, &ratio
	return f
}

// rounded keeps four digits that mean something: no clock here is good for more.
func rounded(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Abs(x)))) - 3)
	if unit < 1 {
		return math.Round(x/unit) / math.Round(1/unit) // a division by a whole number ends in the shortest decimal
	}
	return math.Round(x/unit) * unit
}
