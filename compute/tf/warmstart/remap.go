package warmstart

import (
	"fmt"
	"slices"
)

// remap finds for each new row the old one that stands for the same, -1 for none, and says how many
// moved. Both sides' rows can be distinguished. nil is all as they are. The note is taken, with its
// %d, and an error is none.
func remap(ours, old Rows, taken, none string) (order []int, note string, err error) {
	if slices.Equal(ours, old) {
		return nil, "", nil
	}
	at := make(map[string]int, len(old))
	for i, row := range old {
		at[row] = i
	}
	order = make([]int, len(ours))
	n, fresh := 0, ""
	for i, row := range ours {
		from, ok := at[row]
		switch {
		case ok:
			n++
		case fresh == "":
			fresh, from = row, -1
		default:
			from = -1
		}
		order[i] = from
	}
	if n == 0 {
		return nil, "", misfit(fmt.Sprintf("%s: %s against %s", none, old[0], ours[0]))
	}
	note = fmt.Sprintf(taken, n)
	if added := len(ours) - n; added > 0 {
		note += fmt.Sprintf(", %d new (%s%s)", added, fresh, more(added))
	}
	if left := len(old) - n; left > 0 {
		note += fmt.Sprintf(", %d left behind", left)
	}
	return order, note, nil
}

func more(n int) string {
	if n > 1 {
		return ", ..."
	}
	return ""
}
