package warm

import (
	"fmt"
	"slices"
)

// remap finds for each new row the old one that stands for the same, -1 for none, and says how many moved. Both sides' rows
// can be told from each other. nil is all as they stand.
func remap(ours, old Rows) (order []int, told string, err error) {
	if slices.Equal(ours, old) {
		return nil, "", nil
	}
	at := make(map[string]int, len(old))
	for i, row := range old {
		at[row] = i
	}
	order = make([]int, len(ours))
	taken, fresh := 0, ""
	for i, row := range ours {
		from, ok := at[row]
		switch {
		case ok:
			taken++
		case fresh == "":
			fresh, from = row, -1
		default:
			from = -1
		}
		order[i] = from
	}
	if taken == 0 {
		return nil, "", misfit(fmt.Sprintf("no row stands for the same: %s against %s", old[0], ours[0]))
	}
	told = fmt.Sprintf("%d rows by what they stand for", taken)
	if n := len(ours) - taken; n > 0 {
		told += fmt.Sprintf(", %d new (%s%s)", n, fresh, more(n))
	}
	if n := len(old) - taken; n > 0 {
		told += fmt.Sprintf(", %d left behind", n)
	}
	return order, told, nil
}

func more(n int) string {
	if n > 1 {
		return ", ..."
	}
	return ""
}
