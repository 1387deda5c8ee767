package console

import (
	"cmp"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
)

// studiesView is the list of studies.
type studiesView struct {
	Studies []studyLine
	Heads   []sortHead
	Leaf    leaf
}

type studyLine struct {
	summary
	URL       template.URL
	Direction string  // what is better of the first objective, in words
	Done      float64 // part of its trials that have ended, from 0 to 1; 0: its number is not known
}

const studiesPerPage = 50

func (c *Console) studiesPage() page {
	return page{
		nav: "studies", template: "studies", title: func(any) string { return "Studies" }, fragments: []string{"studies-table"}, breath: shortly,
		build: func(r *http.Request) (any, error) {
			list, err := c.studies.list(r.Context(), "")
			if err != nil {
				return nil, err
			}
			by := sortBy(list, studyColumns, r.FormValue("sort"), "-"+studyColumns[0].name)
			list, at := leafOf(r, list, studiesPerPage)
			view := studiesView{Leaf: at, Heads: studyHeads(by)}
			for _, one := range list {
				view.Studies = append(view.Studies, lineOfStudy(one))
			}
			return view, nil
		},
	}
}

func lineOfStudy(one summary) studyLine {
	line := studyLine{summary: one, URL: link("/study", "pipeline", one.Name.Pipeline, "id", one.Name.ID)}
	if len(one.Objectives) > 0 {
		line.Direction = directionInWords(one.Objectives[0].Direction)
	}
	if one.MaxTrials > 0 {
		line.Done = min(1, float64(one.New)/float64(one.MaxTrials))
	}
	return line
}

// directionInWords returns which scores are better.
func directionInWords(d tune.Direction) string {
	if d == tune.Max {
		return "higher is better"
	}
	return "lower is better"
}

// studyColumns are the columns by which studies are sorted: the first is the default, and begins
// with the newest.
var studyColumns = []sortColumn[summary]{
	{"updated", "Updated", true, func(a, b summary) int { return a.Grown.Compare(b.Grown) }},
	{"pipeline", "Study", false, func(a, b summary) int { return strings.Compare(a.Name.Pipeline, b.Name.Pipeline) }},
	{"state", "State", false, func(a, b summary) int { return strings.Compare(a.State, b.State) }},
	{"objective", "Objective", false, func(a, b summary) int { return strings.Compare(objectiveName(a), objectiveName(b)) }},
	{"best", "Best", true, func(a, b summary) int { return cmp.Compare(scoreOr(a.Best), scoreOr(b.Best)) }},
	{"trials", "Trials", true, func(a, b summary) int { return cmp.Compare(a.Trials, b.Trials) }},
	{"algorithm", "Algorithm", false, func(a, b summary) int { return strings.Compare(a.Algorithm, b.Algorithm) }},
}

func objectiveName(s summary) string {
	if len(s.Objectives) == 0 {
		return ""
	}
	return s.Objectives[0].Name
}

// scoreOr sorts studies without a score last.
func scoreOr(score *float64) float64 {
	if score == nil {
		return math.Inf(1)
	}
	return *score
}

// studyHeads returns the headings in the order of the table.
func studyHeads(by string) (heads []sortHead) {
	for _, column := range append(slices.Clone(studyColumns[1:]), studyColumns[0]) {
		heads = append(heads, column.head(by, func(sort string) template.URL { return link("/studies", "sort", sort) }))
	}
	return heads
}
