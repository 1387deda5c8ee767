package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// four returns a study of four trials over a logarithmic rate and a word, with these losses.
func four(losses ...float64) tune.Study {
	s := tune.Study{Entries: 1, Config: tune.Config{
		Space: space.Space{
			{Name: "rate", Kind: space.Float, Min: 0.001, Max: 1, Sampling: space.Log},
			{Name: "word", Kind: space.Choice, Choices: []any{"a", "<b>"}},
		},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
	}}
	for i, loss := range losses {
		s.Trials = append(s.Trials, &tune.Trial{
			ID: fmt.Sprintf("%04d", i), Status: tune.Completed, Metrics: map[string]float64{"loss": loss},
			By: tune.Owner{Job: []string{"jobone", "jobtwo"}[i%2]}, Started: time.Unix(int64(10*i), 0), Ended: time.Unix(int64(10*i+10), 0),
			Suggestion: tune.Suggestion{Values: space.Values{{Name: "rate", Of: math.Pow(10, float64(-i))}, {Name: "word", Of: []string{"a", "<b>"}[i%2]}}},
		})
	}
	return s
}

func TestPositionsOfAStudy(t *testing.T) {
	t.Parallel()
	c := NewStudy(four(4, 3, 1, 2))
	rate, word, loss := c.dimension("rate"), c.dimension("word"), c.Scores[0]
	if got := fmt.Sprintf("%.3f %.2f %.3f", rate.at, word.at, loss.at); got != "[1.000 0.667 0.333 0.000] [0.75 0.25 0.75 0.25] [1.000 0.667 0.000 0.333]" {
		t.Error(got)
	}
	if got := fmt.Sprint(word.Words, ticksText(rate.ticks(3)), ticksText(loss.ticks(4))); got != "[<b> a]0.000 is 0.001, 0.333 is 0.01, 0.667 is 0.1, 1.000 is 10.000 is 1, 0.333 is 2, 0.667 is 3, 1.000 is 4" {
		t.Error(got)
	}
	if v := rate.Value(0.5); math.Abs(v-math.Sqrt(0.001)) > 1e-9 {
		t.Errorf("the middle of a logarithmic range is %v", v)
	}
	better, worse := c.Neighbors("0003")
	if c.Rank("0002") != 1 || c.Rank("none") != 0 || better != "0002" || worse != "0001" || c.Scored() != 4 {
		t.Errorf("rank %d, better %q, worse %q", c.Rank("0002"), better, worse)
	}
	if better, _ := c.Neighbors("0002"); better != "" {
		t.Errorf("better than the best: %q", better)
	}
}

func ticksText(ticks []tick) string {
	var list []string
	for _, t := range ticks {
		list = append(list, fmt.Sprintf("%.3f is %s", t.at, t.text))
	}
	return strings.Join(list, ", ")
}

func TestASliceHasTheScores(t *testing.T) {
	t.Parallel()
	svg := NewStudy(four(4, 3, 1, 2)).Slice("rate")
	// The plot is 276 by 166 at (52, 12): 0.1 is at two thirds, a loss of 3 a third from the top.
	for _, want := range []string{`data-t="0" d="M328 12h0"`, `data-t="1" d="M236 67.3h0"`, `data-t="2" d="M144 178h0"`, `data-t="3" d="M52 122.7h0"`,
		`<path class="best" d="M144 178h0"/>`, `>rate (log)<`, `loss by rate of 4 trials, on a logarithmic axis`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg[strings.Index(svg, "</style>"):])
		}
	}
	if words := NewStudy(four(4, 3, 1, 2)).Slice("word"); strings.Contains(words, "<b>") || !strings.Contains(words, "&lt;b&gt;") {
		t.Error(words)
	}
}

// Numbers that are choices have columns too, in their order.
func TestChoicesHaveColumns(t *testing.T) {
	t.Parallel()
	s := four(4, 3, 1, 2)
	s.Config.Space = append(s.Config.Space, space.Parameter{Name: "batch", Kind: space.Choice, Choices: []any{int64(128), int64(16), int64(64)}})
	for i, trial := range s.Trials {
		trial.Values = append(trial.Values, space.Value{Name: "batch", Of: []int64{128, 16, 64, 16}[i]})
	}
	d := NewStudy(s).dimension("batch")
	if got := fmt.Sprintf("%v %.3f", d.Words, d.at); got != "[16 64 128] [0.833 0.167 0.500 0.167]" {
		t.Error(got)
	}
}

func TestWordsHaveColumns(t *testing.T) {
	t.Parallel()
	c := NewStudy(four(1, 1, 1, 1, 1, 1, 1, 1))
	for i, m := range c.scatter(area{0, 0, 100, 100}, c.dimension("word"), c.Scores[0]) {
		if right := m.x > 50; right != (i%2 == 0) || m.y != 50 {
			t.Errorf("trial %d is at %v, %v", i, m.x, m.y)
		}
	}
}

// An outlier is drawn at the end of the axis, and does not squeeze the others.
func TestAnOutlierIsAtTheEnd(t *testing.T) {
	t.Parallel()
	losses := []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1e9}
	d := NewStudy(four(losses...)).Scores[0]
	if d.Beyond != 1 || d.High > 10 || d.at[9] != 1 || d.at[8] < 0.2 {
		t.Errorf("%+v", d)
	}
	for i := range losses {
		losses[i] = -losses[i]
	}
	s := four(losses...)
	s.Config.Objectives[0].Direction = tune.Max
	if d := NewStudy(s).Scores[0]; d.Beyond != 1 || d.Low < -10 || d.at[9] != 0 || d.at[8] > 0.8 {
		t.Errorf("%+v", d)
	}
}

// TestTheFieldFollowsTheScores interpolates a slope: left is better, so bands cover less and less.
func TestTheFieldFollowsTheScores(t *testing.T) {
	t.Parallel()
	s := tune.Study{Entries: 1, Config: tune.Config{Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}, Space: space.Space{
		{Name: "x", Kind: space.Float, Max: 1}, {Name: "y", Kind: space.Float, Max: 1}}}}
	for i := range 400 {
		x, y := float64(i%20)/19, float64(i/20)/19
		s.Trials = append(s.Trials, &tune.Trial{ID: fmt.Sprintf("%04d", i), Status: tune.Completed, Metrics: map[string]float64{"loss": x},
			Suggestion: tune.Suggestion{Values: space.Values{{Name: "x", Of: x}, {Name: "y", Of: y}}}})
	}
	c := NewStudy(s)
	x, y := c.dimension("x"), c.dimension("y")
	grid := expected(c.samples(x, y), x, y)
	for row := range gridRows + 1 {
		at := row * (gridColumns + 1)
		for column := range gridColumns {
			if !(grid[at+column] > grid[at+column+1]) {
				t.Fatalf("row %d: %.3f, then %.3f", row, grid[at+column], grid[at+column+1])
			}
		}
	}
	svg := c.Contour("x", "y")
	right := 0.0
	for _, band := range regexp.MustCompile(`class="field s[0-9]" d="([^"]*)"`).FindAllStringSubmatch(svg, -1) {
		most := 0.0
		for _, at := range regexp.MustCompile(`[ML]([0-9.]+)`).FindAllStringSubmatch(band[1], -1) {
			var x float64
			_, _ = fmt.Sscan(at[1], &x)
			most = max(most, x)
		}
		if right > 0 && most >= right {
			t.Errorf("a better band reaches to %v, a worse one to %v", most, right)
		}
		right = most
	}
	if n := strings.Count(svg, `class="field`); n != shades {
		t.Errorf("%d bands", n)
	}
}

// TestTheParetoFrontIsDrawn has four trials, of which one is dominated.
func TestTheParetoFrontIsDrawn(t *testing.T) {
	t.Parallel()
	s := tune.Study{Entries: 1, Config: tune.Config{Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}, {Name: "speed", Direction: tune.Max}}}}
	for i, score := range [][2]float64{{0, 0}, {2, 2}, {1, 1}, {2, 1}} {
		s.Trials = append(s.Trials, &tune.Trial{ID: fmt.Sprintf("%04d", i), Status: tune.Completed, Ended: time.Unix(int64(i), 0),
			Metrics: map[string]float64{"loss": score[0], "speed": score[1]}})
	}
	c := NewStudy(s)
	svg := c.Pareto(0, 1)
	// The plot is 480 by 302 at (64, 12): up and left are better.
	if want := `<path class="front" d="M64 314L304 314L304 163L544 163L544 12"/>`; !strings.Contains(svg, want) {
		t.Errorf("no %s in %s", want, svg[strings.Index(svg, "</style>"):])
	}
	if n := strings.Count(svg, `class="best"`); n != 3 {
		t.Errorf("%d trials are marked", n)
	}
	// Scaled to the unit square: (1, 0) dominates nothing, nor does (0, 1); (0.5, 0.5) does.
	if got := fmt.Sprint(c.Hypervolume()); got != "[{1 0 0} {2 0 0} {3 0.25 0} {4 0.25 0}]" {
		t.Error(got)
	}
}

func TestATimelineHasABarForEachTrial(t *testing.T) {
	t.Parallel()
	s := four(4, 3, 1, 2)
	s.Trials[3].Status, s.Trials[3].Ended, s.Trials[3].Metrics = tune.Running, time.Time{}, nil
	s.Trials[2].Status, s.Trials[2].Metrics, s.Trials[2].Message = tune.Failed, nil, "no luck"
	svg := NewStudy(s).Timeline(time.Unix(50, 0))
	// 938 units at 150 stand for 50 s.
	for _, want := range []string{`<path class="bar completed" data-t="0" d="M150 8H336.8V30.0H150.0z"/>`, `<path class="bar completed" data-t="1" d="M337.6 36H524.4V58.0H337.6z"/>`,
		`<path class="bar failed" data-t="2" d="M525.2 21.2H712.0V30.0H525.2z"/>`, `<path class="bar running" data-t="3" d="M712.8 36H1087.2V58.0H712.8z"/>`, ">jobone<", ">50 s<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg[strings.Index(svg, "</style>"):])
		}
	}
}

// TestATimelineHasALaneForEachWorker gives one worker two trials at a time, whose jobs differ.
func TestATimelineHasALaneForEachWorker(t *testing.T) {
	t.Parallel()
	s := four(4, 3, 1, 2)
	for i, trial := range s.Trials {
		trial.Worker, trial.By.Job = "host-k3f9qz", fmt.Sprint("job", i)
		if i == 1 {
			trial.Started = s.Trials[0].Started.Add(time.Second)
		}
	}
	s.Trials[3].Worker = "<b>" + strings.Repeat("x", 500)
	svg := NewStudy(s).Timeline(time.Unix(50, 0))
	if height := NewStudy(s).TimelineHeight(time.Unix(50, 0)); height != int(timelineHeight(3)) {
		t.Errorf("%d units high, want three lanes", height)
	}
	if strings.Count(svg, ">host-k3f9qz<") != 1 || strings.Contains(svg, ">job") || strings.Contains(svg, "<b>") || strings.Contains(svg, strings.Repeat("x", 100)) {
		t.Errorf("lanes: %s", svg[strings.Index(svg, "</style>"):])
	}
	// The third trial begins after the first has ended, and shares its lane.
	for _, want := range []string{`data-t="0,2" d="M150 8`, `data-t="1" d="M`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg[strings.Index(svg, "</style>"):])
		}
	}
}

func TestIntermediateValuesAreCurves(t *testing.T) {
	t.Parallel()
	s := four(4, 3)
	for i, trial := range s.Trials {
		trial.Curves = map[string][]tune.Point{"loss": {{Step: 0, Value: 8}, {Step: 5, Value: math.NaN()}, {Step: 10, Value: float64(4 - i)}}}
	}
	svg := NewStudy(s).Intermediate()
	for _, want := range []string{`data-t="0" d="M60 12M1084 207.2"`, `data-t="1" d="M60 12M1084 256"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg[strings.Index(svg, "</style>"):])
		}
	}
	if NewStudy(four(1, 2)).Intermediate() != "" {
		t.Error("trials without curves have a drawing")
	}
}

// drawings returns all drawings of a study.
func drawings(c *Study) map[string]string {
	all := map[string]string{"intermediate": c.Intermediate(), "timeline": c.Timeline(time.Unix(1e6, 0)), "pareto": c.Pareto(0, 1), "parallel": c.Picture()}
	for i, d := range c.Parameters[:min(13, len(c.Parameters))] {
		all["slice of "+d.Name] = c.Slice(d.Name)
		all["contour of "+d.Name] = c.Contour(d.Name, c.Parameters[(i+1)%len(c.Parameters)].Name)
	}
	if v := c.Coordinates(); v != nil {
		all["wide"], all["tall"] = string(v.Wide), string(v.Tall)
	}
	return all
}

var notDrawable = regexp.MustCompile(`(NaN|Inf|[0-9]e[+-]?[0-9])`)

// check reads a drawing as XML, and looks for coordinates that are not numbers.
func check(t *testing.T, name, svg string) {
	t.Helper()
	if len(svg) > 120<<10 {
		t.Errorf("%s has %d KiB", name, len(svg)>>10)
	}
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, svg)
		}
		element, ok := token.(xml.StartElement)
		for _, attribute := range element.Attr {
			if ok && attribute.Name.Local != "aria-label" && notDrawable.MatchString(attribute.Value) {
				t.Errorf("%s: %s of %s is %.200s", name, attribute.Name.Local, element.Name.Local, attribute.Value)
			}
		}
		if element.Name.Local == "script" || element.Name.Local == "img" {
			t.Errorf("%s: a name is taken for an element", name)
		}
	}
}

// TestHostileStudiesAreDrawn draws studies with values that are not numbers, a thousand words, a
// hundred parameters, huge ranges and names that are HTML; of 2,000 trials, of one and of none.
func TestHostileStudiesAreDrawn(t *testing.T) {
	t.Parallel()
	for _, trials := range []int{0, 1, 2, 3, 9, 2000} {
		c := NewStudy(hostile(trials))
		for name, svg := range drawings(c) {
			check(t, fmt.Sprintf("%d trials, %s", trials, name), svg)
		}
		for i := range c.Rows() {
			if line := c.Line(i); notDrawable.MatchString(line) || strings.Count(line, ",") != maxAxes {
				t.Errorf("line %s", line)
			}
		}
		_ = c.Hypervolume()
		_, _ = c.Progress()
	}
	if drawn := drawings(NewStudy(tune.Study{})); strings.Join([]string{drawn["parallel"], drawn["timeline"], drawn["pareto"]}, "") != "" {
		t.Error("an empty study has drawings")
	}
}

func hostile(trials int) tune.Study {
	s := tune.Study{Entries: 1, Config: tune.Config{Objectives: []tune.Objective{{Name: `"><script>`, Direction: tune.Min}, {Name: "b", Direction: tune.Max}}}}
	for i := range 100 {
		p := space.Parameter{Name: fmt.Sprintf(`<img src=x>"'&%d`, i), Kind: space.Float, Max: 1, Sampling: []space.Sampling{space.Linear, space.Log}[i%2]}
		s.Config.Space = append(s.Config.Space, p)
	}
	hard := []any{math.NaN(), math.Inf(1), math.Inf(-1), -1.0, 0.0, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, int64(math.MaxInt64), "word", true, nil}
	for i := range trials {
		t := &tune.Trial{
			ID: fmt.Sprintf("%04d", i), Status: []tune.Status{tune.Completed, tune.Completed, tune.Failed, tune.Invalid, tune.Running, tune.Infeasible}[i%6],
			By: tune.Owner{Job: strings.Repeat("<j>", i%50)}, Started: time.Unix(int64(i*i%977), 0), Ended: time.Unix(int64(i%13), 0),
		}
		score := []float64{1, math.MaxFloat64, -math.MaxFloat64, float64(i), math.Inf(1), math.NaN()}[i/6%6]
		t.Metrics = map[string]float64{`"><script>`: score, "b": float64(i % 7)}
		t.Curves = map[string][]tune.Point{`"><script>`: {{Step: -5, Value: score}, {Step: math.MaxInt, Value: math.NaN()}, {Step: 3, Value: 1}}}
		for at, p := range s.Config.Space {
			value := hard[(i+at)%len(hard)]
			if at%9 == 0 {
				value = fmt.Sprintf("<word %d>", i)
			}
			if (i+at)%4 != 0 {
				t.Values = append(t.Values, space.Value{Name: p.Name, Of: value})
			}
		}
		s.Trials = append(s.Trials, t)
	}
	return s
}
