package archtest_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/infra/archtest"
)

const fruits = `// Package fruit has fruits.
package fruit

type Kind string

const (
	Apple Kind = "apple"
	Pear  Kind = "pear"
	Fig   Kind = "fig"
)

var kinds = []struct{ kind Kind }{{Apple}, {Pear}, {Fig}}

type (
	ApplePie struct{}
	PearPie  struct{}
	FigPie   struct{}
)

func (*ApplePie) Kind() Kind { return Apple }
func (*PearPie) Kind() Kind  { return Pear }
func (*FigPie) Kind() Kind   { return Fig }
`

func gaps(t *testing.T, declared, code string) []string {
	t.Helper()
	tree := files(map[string]string{
		"fruit/fruit.go": declared,
		"shop/sell.go":   "package shop\n\nimport \"example.org/fruit\"\n\n" + code,
	})
	enum := archtest.Enum{Import: "example.org/fruit", Dir: "fruit", Type: "Kind", Table: "kinds"}
	found, err := enum.Gaps(tree)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCodeThatSaysWhatHoldsForTheOtherValuesHasNoGaps(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"a switch over all":         "func f(k fruit.Kind) {\nswitch k {\ncase fruit.Apple, fruit.Pear:\ncase fruit.Fig:\n}\n}",
		"a default with a reason":   "func f(k fruit.Kind) {\nswitch k {\ncase fruit.Apple:\ndefault: // others are not sold\n}\n}",
		"a reason in the body":      "func f(k any) {\nswitch k.(type) {\ncase *fruit.FigPie:\ndefault:\n// others are not sold\n}\n}",
		"a map of all":              "var m = map[fruit.Kind]int{fruit.Apple: 1, fruit.Pear: 2, fruit.Fig: 3}",
		"a map with a reason":       "// m has those with a price.\nvar m = map[fruit.Kind]int{fruit.Apple: 1}",
		"a slice of one":            "var s = []fruit.Kind{fruit.Apple}",
		"a slice with a reason":     "var s = []fruit.Kind{fruit.Apple, fruit.Pear} // those that grow here",
		"a switch over other types": "func f(k any) {\nswitch k.(type) {\ncase string, *fruit.Basket:\n}\n}",
	} {
		if found := gaps(t, fruits, code); len(found) > 0 {
			t.Errorf("%s: %q", name, found)
		}
	}
}

func TestEachGapIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ code, want string }{
		"a switch over some": {"func f(k fruit.Kind) {\nswitch k {\ncase fruit.Apple:\n}\n}", "shop/sell.go:6:1 has no Pear, Fig: it needs a default clause"},
		"a default without a reason": {
			"func f(k fruit.Kind) int {\nswitch k {\ncase fruit.Apple, fruit.Fig:\nreturn 1\ndefault:\nreturn 2\n}\n}",
			"has no Pear: it needs a default clause with a comment"},
		"a switch over some types": {"func f(k any) {\nswitch k.(type) {\ncase *fruit.FigPie:\n}\n}", "has no ApplePie, PearPie"},
		"a map of some":            {"var m = map[fruit.Kind]int{fruit.Apple: 1}", "shop/sell.go:5:9 has no Pear, Fig: it needs a comment"},
		"a slice of some":          {"var s = []fruit.Kind{fruit.Apple, fruit.Pear}", "has no Fig: it needs a comment"},
	} {
		found := gaps(t, fruits, test.code)
		if len(found) != 1 || !strings.Contains(found[0], test.want) {
			t.Errorf("%s: got %q, want one with %q", name, found, test.want)
		}
	}
	if found := gaps(t, strings.Replace(fruits, "{Apple}, {Pear}, {Fig}", "{Apple}, {Fig}", 1), ""); len(found) != 1 || found[0] != "fruit: Pear has no row in kinds" {
		t.Errorf("a constant that the table lacks: %q", found)
	}
}
