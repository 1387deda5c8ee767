package app_test

import (
	"bytes"
	"testing"

	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

func TestAnItemIsPickedByTheUniqueBeginningOfItsID(t *testing.T) {
	t.Parallel()
	items, itself := []string{"aab", "aac", "aa", "b1"}, func(item string) string { return item }
	for word, want := range map[string]string{"aab": "aab", "aa": "aa", "b": "b1", "second": "aac", "": "", "x": ""} {
		got, found, err := app.Pick(items, word, "items", itself, func(item string) bool { return word == "second" && item == "aac" })
		if got != want || found != (want != "") || err != nil {
			t.Errorf("%q picks %q, %t, %v, want %q", word, got, found, err, want)
		}
	}
	_, found, err := app.Pick(items, "a", "items", itself, func(string) bool { return false })
	if found || err == nil || exit.Code(err) != 2 || err.Error() != "3 items begin with a, such as aab and aac: give more of the id" {
		t.Errorf("%t, %v", found, err)
	}
}

func TestATableHasItsWideColumnsOnRequest(t *testing.T) {
	t.Parallel()
	l := app.Listing[int]{Items: []int{1, 2}, Columns: []app.Column[int]{
		{Head: "N", Of: func(n int) any { return n }},
		{Head: "SQUARE", Of: func(n int) any { return n * n }, Wide: true},
	}}
	for wide, want := range map[bool]string{false: "N\n1\n2\n", true: "N\tSQUARE\n1\t1\n2\t4\n"} {
		var out bytes.Buffer
		if l.Table(&out, wide); out.String() != want {
			t.Errorf("wide %t: %q, want %q", wide, out.String(), want)
		}
	}
}
