package skew

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// values are what one row has of one output or feature: floats, integers or texts.
type values struct {
	floats []float64
	ints   []int64
	texts  []string
}

func (v values) len() int { return len(v.floats) + len(v.ints) + len(v.texts) }

// number is number i of those that are numbers.
func (v values) number(i int) float64 {
	if v.ints != nil {
		return float64(v.ints[i])
	}
	return v.floats[i]
}

// largest is the largest finite number by its size.
func (v values) largest() float64 {
	most := 0.0
	for i := range len(v.floats) + len(v.ints) {
		if size := math.Abs(v.number(i)); !math.IsInf(size, 0) && size > most {
			most = size
		}
	}
	return most
}

// apart is how far two lists lie apart, and whether they are the same but for what allowed says of
// numbers. Texts must be equal, and so must integers: these may be floats in want, as all numbers
// of a prediction are. NaN is like NaN.
func (v values) apart(want values, allowed float64) (distance float64, same bool) {
	if v.len() != want.len() || len(v.texts) != len(want.texts) {
		return 0, false
	}
	for i, text := range v.texts {
		if text != want.texts[i] {
			return 0, false
		}
	}
	same = true
	for i := range v.len() - len(v.texts) {
		a, b := v.number(i), want.number(i)
		if v.ints != nil && want.ints != nil && v.ints[i] != want.ints[i] {
			same = false
		}
		if a == b || math.IsNaN(a) && math.IsNaN(b) {
			continue
		}
		d := math.Abs(a - b)
		same = same && v.ints == nil
		if math.IsNaN(d) || math.IsInf(d, 0) {
			same = false
			continue
		}
		distance = max(distance, d)
		same = same && d <= allowed
	}
	return distance, same
}

// isLike says whether two lists have the same texts and integers, and numbers that are not finite
// in the same places.
func (v values) isLike(other values) bool {
	if v.len() != other.len() || !slices.Equal(v.texts, other.texts) || !slices.Equal(v.ints, other.ints) {
		return false
	}
	for i, a := range v.floats {
		b := other.floats[i]
		if isFinite(a) != isFinite(b) || !isFinite(a) && a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
			return false
		}
	}
	return true
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func (v values) String() string {
	const most = 8 // elements of a list in a message
	switch {
	case v.texts != nil:
		return fingerprints(v.texts[:min(len(v.texts), most)])
	case v.ints != nil:
		return fmt.Sprint(v.ints[:min(len(v.ints), most)])
	}
	var texts []string
	for _, x := range v.floats[:min(len(v.floats), most)] {
		texts = append(texts, shortest(x))
	}
	return fmt.Sprint(texts)
}

// fingerprints distinguish texts without showing them: a graph may have read them from anywhere,
// and what is reported of a difference is published.
func fingerprints(texts []string) string {
	var all []string
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		all = append(all, fmt.Sprintf("%d bytes with SHA-256 %x...", len(text), sum[:4]))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// shortest is a number in the fewest digits that distinguish it from any other: of the float32 that
// it is, mostly.
func shortest(x float64) string {
	if float64(float32(x)) == x {
		return strconv.FormatFloat(x, 'g', -1, 32)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
