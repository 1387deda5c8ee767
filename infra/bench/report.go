package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

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
		if f.Unit == bestValue {
			number, goal = precise, f.Verdict
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

// number shows three digits that mean something.
func number(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
