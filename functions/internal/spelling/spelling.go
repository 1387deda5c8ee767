// Package spelling finds the known word that was probably meant.
package spelling

import "strings"

// Suggestion returns "; did you mean <known>?" for the known word that is nearest to an unknown
// one, else for the only one of which that is a part: units of hidden_units. It returns "" if there
// is none. It goes at the end of the error that reports the unknown word.
func Suggestion(word string, known []string) string {
	best := Nearest(word, known)
	if best == "" {
		best = whole(word, known)
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// whole returns the only known name that begins or ends with a word and a separator; "" for none or
// several.
func whole(word string, known []string) (found string) {
	const separators = "-_."
	word = strings.TrimLeft(word, separators)
	for _, name := range known {
		before, ends := strings.CutSuffix(name, word)
		after, begins := strings.CutPrefix(strings.TrimLeft(name, separators), word)
		ends = ends && strings.Trim(before, separators) != "" && strings.ContainsAny(before[len(before)-1:], separators)
		begins = begins && after != "" && strings.ContainsAny(after[:1], separators)
		switch {
		case !ends && !begins || word == "":
		case found != "":
			return ""
		default:
			found = name
		}
	}
	return found
}

// Nearest returns the known word that is nearest to an unknown one, or "" if none is near.
func Nearest(word string, known []string) string {
	best, bestDistance := "", 3
	for _, candidate := range known {
		if d := Distance(word, candidate); d < bestDistance && 2*d <= len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// Distance returns the optimal string alignment distance: the number of insertions, deletions and
// replacements of bytes, and exchanges of two neighbors, that turn a into b.
func Distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			replaced := row[j]
			if a[i] != b[j] {
				replaced++
			}
			next[j+1] = min(replaced, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
