package module

// Suggestion is "; did you mean <known>?" for the known word that is nearest to one which is unknown, or "" where none is near. It
// goes at the end of the error that refuses the word.
func Suggestion(word string, known []string) string {
	best, bestDistance := "", 3
	for _, candidate := range known {
		if d := distance(word, candidate); d < bestDistance && d < len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is Levenshtein's: the insertions, deletions and replacements of bytes that turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
