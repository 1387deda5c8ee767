package chart

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestAViewIsAPartOfAnAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]View{
		"":                                  {},
		"scale=log&smooth=0.6":              {Log: true, Smooth: 0.6},
		"x=relative&zoom=100~500.5":         {X: ByRelative, From: 100, To: 500.5},
		"smooth=7&x=wall":                   {Smooth: MaxSmooth, X: ByWall},
		"scale=cubic&smooth=-1&x=moon":      {},
		"smooth=NaN&zoom=5~1":               {},
		"zoom=NaN~1&smooth=x":               {},
		"zoom=1e400~2e400&smooth=":          {},
		"zoom=" + strings.Repeat("9", 5000): {},
	} {
		query, err := url.ParseQuery(address)
		if err != nil {
			t.Fatal(err)
		}
		v := ParseView(query)
		if v != want {
			t.Errorf("%.60s is %+v, want %+v", address, v, want)
		}
		if again := ParseView(v.Query()); again != v {
			t.Errorf("%+v is %+v after a round trip", v, again)
		}
	}
}

// The numbers are those of TensorBoard for the same series and weight.
func TestSmoothingHasNoBiasToZero(t *testing.T) {
	t.Parallel()
	points := []Point{{Step: 1, Value: 4}, {Step: 2, Value: 2}, {Step: 3, Value: math.NaN()}, {Step: 4, Value: 1}}
	var got []float64
	for _, p := range Smoothed(points, 0.5) {
		got = append(got, math.Round(p.Value*1e4)/1e4)
	}
	// (0.5 4)/0.5; (0.5 2 + 0.25 4)/0.75; (0.5 1 + 0.25 2 + 0.125 4)/0.875
	if want := []float64{4, 2.6667, 1.7143}; got[0] != want[0] || got[1] != want[1] || !math.IsNaN(got[2]) || got[3] != want[2] {
		t.Errorf("got %v, want %v", got, want)
	}
	if points[1].Value != 2 {
		t.Error("the points themselves have changed")
	}
}

func chartOf(values ...float64) Chart {
	line := Series{Part: "train"}
	for i, v := range values {
		line.Points = append(line.Points, Point{Step: float64(i), Value: v, Time: 1e9 + 60*float64(i)})
	}
	return Chart{Metric: "loss", Axis: "step", Lines: []Series{line}}
}

func TestAViewChangesThePicture(t *testing.T) {
	t.Parallel()
	c := chartOf(100, 10, 1, 0.1, 0.05, 0.02)
	for name, of := range map[string]struct {
		view  View
		has   []string
		lacks []string
	}{
		"plain":     {View{}, []string{">100<", ">50<"}, []string{"faint", ">0.1<"}},
		"log":       {View{Log: true}, []string{">100<", ">0.01<", ">1<"}, []string{">50<"}},
		"smooth":    {View{Smooth: 0.6}, []string{"faint"}, nil},
		"zoom":      {View{From: 2, To: 4}, []string{">2.5<", ">0.5<"}, []string{">100<"}},
		"relative":  {View{X: ByRelative}, []string{">5:00<", "at time 5:00"}, nil},
		"wall":      {View{X: ByWall}, []string{">01:50:00<"}, nil},
		"elsewhere": {View{From: 1e6, To: 2e6}, []string{">100<"}, nil},
	} {
		picture := string(c.Draw(of.view))
		for _, text := range of.has {
			if !strings.Contains(picture, text) {
				t.Errorf("%s lacks %s: %s", name, text, picture)
			}
		}
		for _, text := range of.lacks {
			if strings.Contains(picture, text) {
				t.Errorf("%s has %s: %s", name, text, picture)
			}
		}
	}
}

// Whatever a module reports, a picture is finite and small, and its data are valid JSON.
func TestHostileValuesAreDrawn(t *testing.T) {
	t.Parallel()
	many := make([]float64, 100_000)
	for i := range many {
		many[i] = math.Sin(float64(i)) * 1e100
	}
	for name, values := range map[string][]float64{
		"not finite": {math.NaN(), math.Inf(1), 1, math.Inf(-1), 2}, "nothing finite": {math.NaN(), math.Inf(1), math.NaN()},
		"huge": {-math.MaxFloat64, math.MaxFloat64, 1}, "tiny": {5e-324, 1e-300, 0}, "equal": {1, 1, 1}, "negative": {-1, -2, -3}, "one": {1}, "none": nil,
		"nearly equal": {1e16, 1e16 + 2, 1e16}, "many": many, "span": {1e-140, 1e140},
	} {
		for _, v := range []View{{}, {Log: true}, {Smooth: 0.9, Log: true}, {X: ByWall}, {X: ByRelative}, {From: 1, To: 2}} {
			picture := string(chartOf(values...).Draw(v))
			if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") || len(picture) > 20_000 {
				t.Errorf("%s in %+v: %d bytes, %.500s", name, v, len(picture), picture)
			}
			if _, err := chartOf(values[:min(len(values), 600)]...).Data(v); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestLinesOfTheSameStepsShareThem(t *testing.T) {
	t.Parallel()
	c := chartOf(3, 2, 1)
	c.Lines = append(c.Lines, Series{Part: "validation", Color: 1, Points: c.Lines[0].Points}, Series{Part: "other", Color: 12, Points: c.Lines[0].Points[:2]})
	data, err := c.Data(View{})
	if want := `{"metric":"loss","axis":"step","x":[[0,1,2],[0,1]],"lines":[{"name":"train","class":"l0","x":0,"y":[3,2,1]},` +
		`{"name":"validation","class":"l1 dashed","x":0,"y":[3,2,1]},{"name":"other","class":"l2 thin","x":1,"y":[3,2]}]}`; err != nil || data != want {
		t.Errorf("%v\n%s\n%s", err, data, want)
	}
}

func TestTicksOfALogarithmicScale(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		low, high float64
		want      []float64
	}{{0.03, 0.9, []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1}}, {1, 1, []float64{1, 2}}, {1e-3, 1e3, []float64{1e-3, 1e-2, 0.1, 1, 10, 100, 1000}}} {
		ticks := decades(of.low, of.high)
		for i := range ticks {
			ticks[i] = Round(ticks[i], 6)
		}
		if !slices.Equal(ticks, of.want) {
			t.Errorf("%v to %v: %v, want %v", of.low, of.high, ticks, of.want)
		}
	}
	if n := len(decades(1e-140, 1e140)); n > 9 {
		t.Errorf("%d ticks", n)
	}
}
