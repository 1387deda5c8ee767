package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// maxRanges bounds how many ranges of records an error names: those of a shuffled batch may be as
// many as its rows.
const maxRanges = 40

// of names where rows come from, file by file, like " of data-00000.gz records 40..59". It is ""
// where that is not known.
func of(rows []example.Origin) string {
	if len(rows) == 0 {
		return ""
	}
	return " of " + describe(rows)
}

func describe(all []example.Origin) string {
	records := map[string][]int64{}
	var files []string
	for _, at := range all {
		if records[at.File] == nil {
			files = append(files, at.File)
		}
		records[at.File] = append(records[at.File], at.Record)
	}
	var text []string
	left := maxRanges
	for _, file := range files {
		text = append(text, file+" records "+ranges(records[file], &left))
	}
	return strings.Join(text, "; ")
}

// ranges are numbers as few ranges, no more than are left.
func ranges(numbers []int64, left *int) string {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers) // a small file may be read twice for one batch
	var text []string
	for at := 0; at < len(numbers); *left-- {
		if *left == 0 {
			return strings.Join(append(text, fmt.Sprintf("and %d more", len(numbers)-at)), ", ")
		}
		end := at + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		if end-at == 1 {
			text = append(text, fmt.Sprint(numbers[at]))
		} else {
			text = append(text, fmt.Sprintf("%d..%d", numbers[at], numbers[end-1]))
		}
		at = end
	}
	return strings.Join(text, ", ")
}
