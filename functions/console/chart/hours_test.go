package chart

import (
	"strings"
	"testing"
)

func TestBarsShowEveryCount(t *testing.T) {
	t.Parallel()
	svg := string(Bars([]Bar{{Good: 1, Title: "<b>", URL: `/runs?q="x"`}, {}, {Good: 9_999_999, Bad: 1}}))
	if strings.Contains(svg, "<b>") || strings.Contains(svg, `"x"`) {
		t.Errorf("a title is taken for HTML: %s", svg)
	}
	if strings.Count(svg, `class="good"`) != 2 || strings.Count(svg, `class="bad"`) != 1 || strings.Count(svg, `height="2.00"`) != 2 {
		t.Errorf("small counts are not seen: %s", svg)
	}
	if strings.Contains(svg, `y="-`) || strings.Contains(svg, "NaN") {
		t.Errorf("a bar leaves the picture: %s", svg)
	}
	if svg := Bars(nil); svg != "" {
		t.Errorf("no bar: %s", svg)
	}
}
