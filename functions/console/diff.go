package console

import "strings"

// diffLine is a line of a unified diff.
type diffLine struct {
	Kind string // is, was, same, or gap: lines that are left out
	Text string
}

// Mark returns the character before the line.
func (l diffLine) Mark() string {
	return map[string]string{"is": "+", "was": "−", "same": " ", "gap": "⋯"}[l.Kind]
}

// maxDiffCells bounds the work of a diff: where more would be compared, all lines between the first
// and the last difference are shown as changed.
const maxDiffCells = 4 << 20

// maxDiffLines bounds a diff on a page.
const maxDiffLines = 2000

// unifiedDiff compares two texts by line, with the lines around each difference. It returns an
// empty list for equal texts.
func unifiedDiff(before, after string) []diffLine {
	a, b := strings.Split(strings.TrimSuffix(before, "\n"), "\n"), strings.Split(strings.TrimSuffix(after, "\n"), "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var lines []diffLine
	for _, text := range a[:head] {
		lines = append(lines, diffLine{"same", text})
	}
	lines = append(lines, changedLines(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, text := range a[len(a)-tail:] {
		lines = append(lines, diffLine{"same", text})
	}
	return withoutDistant(lines)
}

// changedLines compares by the longest common subsequence.
func changedLines(a, b []string) (lines []diffLine) {
	longest := [][]int32{}
	if len(a)*len(b) <= maxDiffCells {
		longest = make([][]int32, len(a)+1)
		for i := range longest {
			longest[i] = make([]int32, len(b)+1)
		}
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); a[i] == b[j] {
					longest[i][j] = longest[i+1][j+1] + 1
				}
			}
		}
	}
	i, j := 0, 0
	for len(longest) > 0 && i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			lines = append(lines, diffLine{"same", a[i]})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			lines = append(lines, diffLine{"was", a[i]})
			i++
		default:
			lines = append(lines, diffLine{"is", b[j]})
			j++
		}
	}
	for _, text := range a[i:] {
		lines = append(lines, diffLine{"was", text})
	}
	for _, text := range b[j:] {
		lines = append(lines, diffLine{"is", text})
	}
	return lines
}

// withoutDistant keeps three lines around each difference.
func withoutDistant(lines []diffLine) []diffLine {
	const context = 3
	near := make([]bool, len(lines))
	any := false
	for i, line := range lines {
		if line.Kind != "same" {
			any = true
			for k := max(0, i-context); k <= min(len(lines)-1, i+context); k++ {
				near[k] = true
			}
		}
	}
	kept := []diffLine{}
	if !any {
		return kept
	}
	for i, line := range lines {
		if len(kept) == maxDiffLines {
			return append(kept, diffLine{Kind: "gap", Text: "further differences are not shown"})
		}
		if near[i] {
			kept = append(kept, line)
		} else if i == 0 || near[i-1] {
			kept = append(kept, diffLine{Kind: "gap"})
		}
	}
	return kept
}
