package console

import (
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/functions/console/chart"
)

// pictureView is a drawing that a page loads once it is in sight.
type pictureView struct {
	Key, Label    string
	URL           template.URL
	Width, Height int
}

// contourView is a drawing of two of several values.
type contourView struct {
	pictureView
	X, Y    string
	Choices []string
	Keep    []nameValue // the rest of the address
}

// choiceView is the form in which two of several values are chosen.
type choiceView struct {
	View                        contourView
	NameX, NameY, First, Second string
}

func choiceOf(v contourView, nameX, nameY, first, second string) choiceView {
	return choiceView{v, nameX, nameY, first, second}
}

// pictureURL returns the address of a drawing of this version of the study.
func (d drawnStudy) pictureURL(kind string, pairs ...string) template.URL {
	return link("/study/picture.svg", append([]string{"pipeline", d.Name.Pipeline, "id", d.Name.ID, "kind", kind, "v", d.version()}, pairs...)...)
}

// What the page's script draws by itself, as addresses name it.
const (
	dataLines    = "lines"
	dataProgress = "progress"
	dataVolume   = "hypervolume"
)

// dataURL returns the address of the data of a drawing of this version of the study.
func (d drawnStudy) dataURL(of string) template.URL {
	return link("/study/drawing", "pipeline", d.Name.Pipeline, "id", d.Name.ID, "of", of, "v", d.version())
}

// pictures adds the drawings that are loaded once they are in sight.
func (v *studyView) pictures(r *http.Request, d drawnStudy) {
	if d.Scored() == 0 || len(d.Scores) == 0 {
		v.timeline(d)
		return
	}
	most := firstSlices
	if r.FormValue("slices") == "all" {
		most = maxSlices
	} else if len(d.Parameters) > firstSlices {
		v.MoreSlices = linkWith(r, "slices", "all")
	}
	var names []string
	for i, p := range d.Parameters {
		names = append(names, p.Name)
		if i < most {
			label := fmt.Sprintf("%s by %s", d.Scores[0].Name, p.Name)
			v.Slices = append(v.Slices, pictureView{"slice-" + strconv.Itoa(i), label, d.pictureURL("slice", "x", p.Name), 340, 220})
		}
	}
	if len(names) > 1 {
		x, y := chosenTwo(r.FormValue("x"), r.FormValue("y"), names)
		view := pictureView{"contour", fmt.Sprintf("%s by %s and %s", d.Scores[0].Name, x, y), d.pictureURL("contour", "x", x, "y", y), 560, 400}
		v.Contour = &contourView{view, x, y, names, kept(r, "x", "y")}
	}
	if n := len(d.Scores); n > 1 {
		var objectives []string
		for _, score := range d.Scores {
			objectives = append(objectives, score.Name)
		}
		x, y := chosenTwo(r.FormValue("px"), r.FormValue("py"), objectives)
		view := pictureView{"pareto", fmt.Sprintf("Pareto front of %s and %s", x, y), d.pictureURL("pareto", "x", x, "y", y), 560, 360}
		v.Pareto = &contourView{view, x, y, objectives, kept(r, "px", "py")}
	}
	if d.HasCurves() {
		v.Steps = &pictureView{"steps", "Intermediate values of " + d.Scores[0].Name, d.pictureURL("steps"), 1100, 300}
	}
	v.timeline(d)
}

func (v *studyView) timeline(d drawnStudy) {
	if height := d.TimelineHeight(d.State.Study.Last); height > 0 {
		v.Timeline = &pictureView{"timeline", "When trials ran, by worker", d.pictureURL("timeline"), 1100, height}
	}
}

// chosenTwo returns two different names: those that are asked for, else the first ones.
func chosenTwo(x, y string, names []string) (first, second string) {
	if !slices.Contains(names, x) {
		x = names[0]
	}
	if y == x || !slices.Contains(names, y) {
		y = names[0]
		if x == y {
			y = names[1]
		}
	}
	return x, y
}

// studyPicture answers with a drawing of a study.
func (c *Console) studyPicture(w http.ResponseWriter, r *http.Request) {
	d, err := c.drawnStudy(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	kind, x, y := r.FormValue("kind"), r.FormValue("x"), r.FormValue("y")
	draw, known := map[string]func() string{
		"": d.Picture, "parallel": d.Picture, "steps": d.Intermediate,
		"slice":    func() string { return d.Slice(x) },
		"contour":  func() string { return d.Contour(x, y) },
		"pareto":   func() string { return d.Pareto(d.objective(x), d.objective(y)) },
		"timeline": func() string { return d.Timeline(d.State.Study.Last) },
	}[kind]
	if !known {
		c.fail(w, r, notThere("There is no drawing of kind %q.", kind))
		return
	}
	svg := ""
	if d.names(kind, x, y) {
		svg = c.studies.picture(d, strings.Join([]string{kind, strconv.Quote(x), strconv.Quote(y)}, " "), draw)
	}
	if svg == "" {
		c.fail(w, r, notThere("The study has nothing to draw there."))
		return
	}
	// It has its own style, and no script.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	d.send(w, r, "image/svg+xml", svg)
}

// send answers with what is drawn of the study. A client may keep it if it asks for this version.
func (d drawnStudy) send(w http.ResponseWriter, r *http.Request, kind, text string) {
	w.Header().Set("Content-Type", kind)
	if r.FormValue("v") == d.version() {
		w.Header().Set("Cache-Control", "private, max-age=600")
	}
	_, _ = io.WriteString(w, text) // the client may be gone
}

// studyDrawing answers with the data of what the page's script draws: the lines of parallel
// coordinates as text, a chart as JSON.
func (c *Console) studyDrawing(w http.ResponseWriter, r *http.Request) {
	d, err := c.drawnStudy(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	of := r.FormValue("of")
	data, known := map[string]func() string{
		dataLines:    d.Lines,
		dataProgress: func() string { return chartData(d.Progress()) },
		dataVolume:   func() string { return chartData(d.volume()) },
	}[of]
	if !known {
		c.fail(w, r, notThere("A study has no drawing %q: expected %s, %s or %s.", of, dataLines, dataProgress, dataVolume))
		return
	}
	text := c.studies.picture(d, "data of "+of, data)
	if text == "" {
		c.fail(w, r, notThere("The study has nothing to draw there."))
		return
	}
	d.send(w, r, map[bool]string{true: "text/plain; charset=utf-8", false: "application/json"}[of == dataLines], text)
}

// chartData returns the data of a chart; "" if there is none.
func chartData(c chart.Chart, ok bool) string {
	data, err := c.Data(chart.View{})
	if !ok || err != nil { // values are finite
		return ""
	}
	return data
}

// names reports whether the study has what a drawing is of, so that clients can't fill the cache
// with names of their own.
func (d drawnStudy) names(kind, x, y string) bool {
	has := func(list []*chart.Dimension, name string) bool {
		return slices.ContainsFunc(list, func(one *chart.Dimension) bool { return one.Name == name })
	}
	switch kind {
	case "slice":
		return has(d.Parameters, x) && y == ""
	case "contour":
		return has(d.Parameters, x) && has(d.Parameters, y)
	case "pareto":
		return has(d.Scores, x) && has(d.Scores, y)
	}
	return x == "" && y == ""
}

func (d drawnStudy) objective(name string) int {
	return slices.IndexFunc(d.Scores, func(one *chart.Dimension) bool { return one.Name == name })
}
