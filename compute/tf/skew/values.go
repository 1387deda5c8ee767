package skew

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// values are what one row has of one output or feature: floats, integers or texts.
type values struct {
	floats []float64
	ints   []int64
	texts  []string
}

func (v values) len() int { return len(v.floats) + len(v.ints) + len(v.texts) }

// number returns element i of a list of numbers.
func (v values) number(i int) float64 {
	if v.ints != nil {
		return float64(v.ints[i])
	}
	return v.floats[i]
}

// largest returns the finite number with the largest absolute value.
func (v values) largest() float64 {
	most := 0.0
	for i := range len(v.floats) + len(v.ints) {
		if size := math.Abs(v.number(i)); !math.IsInf(size, 0) && size > most {
			most = size
		}
	}
	return most
}

// apart returns how far two lists differ, and whether they are the same within the differences that
// allowed permits for numbers. Strings must be equal, and so must integers, which may be floats in
// want, as all numbers of a prediction are. NaN equals NaN.
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

// isLike reports whether two lists have the same strings and integers, and numbers that are not
// finite at the same indices.
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

// fingerprints distinguish strings without showing them: a graph may have read them from anywhere,
// and a report of a difference is published.
func fingerprints(texts []string) string {
	var all []string
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		all = append(all, fmt.Sprintf("%d bytes with SHA-256 %x...", len(text), sum[:4]))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// shortest returns a number in the fewest digits that distinguish it from any other: usually of a
// float32.
func shortest(x float64) string {
	if float64(float32(x)) == x {
		return strconv.FormatFloat(x, 'g', -1, 32)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// element is one value of a prediction: a number, a string, or one that may be both, such as "NaN".
type element struct {
	number           float64
	text             string
	isNumber, isText bool
}

// words are the numbers that JSON can't represent.
var words = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

// UnmarshalJSON reads a number, a string, or {"b64": a string's bytes}.
func (e *element) UnmarshalJSON(text []byte) error {
	var bytes struct {
		B64 *[]byte `json:"b64"`
	}
	switch {
	case json.Unmarshal(text, &e.number) == nil && string(text) != "null":
		e.isNumber = true
	case json.Unmarshal(text, &e.text) == nil && string(text) != "null":
		e.isText = true
		e.number, e.isNumber = words[e.text]
	case json.Unmarshal(text, &bytes) == nil && bytes.B64 != nil:
		e.text, e.isText = string(*bytes.B64), true
	default:
		return fmt.Errorf("expected a number or a string, got %.40s", text)
	}
	return nil
}

// valuesOf returns the elements of one output: strings, if all of them may be, or numbers.
func valuesOf(list []element) (values, error) {
	var floats []float64
	var texts []string
	for _, e := range list {
		if e.isNumber {
			floats = append(floats, e.number)
		}
		if e.isText {
			texts = append(texts, e.text)
		}
	}
	switch len(list) {
	case len(texts):
		return values{texts: texts}, nil
	case len(floats):
		return values{floats: floats}, nil
	}
	return values{}, errors.New("holds numbers and strings")
}

// like returns the numbers that the words in v represent, if served has no strings and all strings
// of v are such words.
func (v values) like(served values) values {
	if served.texts != nil || v.texts == nil {
		return v
	}
	var floats []float64
	for _, text := range v.texts {
		x, ok := words[text]
		if !ok {
			return v
		}
		floats = append(floats, x)
	}
	return values{floats: floats}
}

// column are the values of every row.
type column []values

// columnOf splits a tensor whose first dimension is the rows.
func columnOf(t tensor.Tensor) (column, error) {
	shape := t.Shape()
	rows, width := shape[0], 1
	for _, d := range shape[1:] {
		width *= d
	}
	made := make(column, rows)
	for i := range made {
		from, to := i*width, (i+1)*width
		if floats, ok := tensor.Values[float32](t); ok {
			for _, x := range floats[from:to] {
				made[i].floats = append(made[i].floats, float64(x))
			}
		} else if floats, ok := tensor.Values[float64](t); ok {
			made[i].floats = floats[from:to]
		} else if ints, ok := tensor.Values[int64](t); ok {
			made[i].ints = ints[from:to]
		} else if ints, ok := tensor.Values[int32](t); ok {
			for _, x := range ints[from:to] {
				made[i].ints = append(made[i].ints, int64(x))
			}
		} else if texts, ok := tensor.Values[string](t); ok {
			made[i].texts = texts[from:to]
		} else {
			return nil, fmt.Errorf("is of type %v, which isn't compared", t.DType())
		}
	}
	return made, nil
}

// sparseColumn distributes the values of a sparse tensor to their rows.
func sparseColumn(indices, content tensor.Tensor, rows int) (column, error) {
	all, err := columnOf(content)
	if err != nil {
		return nil, err
	}
	places, ok := tensor.Values[int64](indices)
	if !ok || len(indices.Shape()) != 2 || len(all) != indices.Shape()[0] {
		return nil, fmt.Errorf("is no sparse tensor")
	}
	made, rank := make(column, rows), indices.Shape()[1]
	for i, v := range all {
		r := int(places[i*rank])
		if r < 0 || r >= rows {
			return nil, fmt.Errorf("has a value in row %d of %d", r, rows)
		}
		made[r].floats, made[r].ints = append(made[r].floats, v.floats...), append(made[r].ints, v.ints...)
		made[r].texts = append(made[r].texts, v.texts...)
	}
	return made, nil
}
