package console

import (
	"encoding/csv"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Tables that a study's drawings are made of.
const (
	dataTrials     = "trials"
	dataSteps      = "steps"
	dataImportance = "importance"
)

// saveView is a menu of files: the table that a drawing is made of, and the drawing.
type saveView struct {
	Label string
	Name  string // of the file of the table, without its ending
	Data  template.URL
	// The table with tabs instead of commas, as spreadsheets take it from the clipboard.
	Tabs     template.URL
	Pictures []savedPicture
}

// savedPicture is a drawing in a menu of files.
type savedPicture struct {
	Label string // "" if it is the only one
	Name  string // of the file, without its ending
	URL   template.URL
}

// SaveData returns the menu of something that has no drawing of its own.
func (v studyView) SaveData(of, label string) saveView {
	address := func(more ...string) template.URL {
		return link("/study/data.csv", append([]string{"pipeline", v.Name.Pipeline, "id", v.Name.ID, "of", of}, more...)...)
	}
	return saveView{Label: label, Name: of, Data: address(), Tabs: address("as", "tabs")}
}

// SavePicture returns the menu of a drawing.
func (v studyView) SavePicture(of, label string, picture pictureView) saveView {
	menu := v.SaveData(of, label)
	menu.Pictures = []savedPicture{{Name: picture.Key, URL: picture.URL}}
	return menu
}

// Drawing returns the drawing alone.
func (v contourView) Drawing() pictureView { return v.pictureView }

// SaveCoordinates returns the menu of the parallel coordinates.
func (v studyView) SaveCoordinates() saveView {
	return v.SavePicture(dataTrials, "parallel coordinates", pictureView{Key: "parallel-coordinates", URL: v.Coords.Picture})
}

// SaveSlices returns the menu of the drawings of the score by each parameter.
func (v studyView) SaveSlices() saveView {
	menu := v.SaveData(dataTrials, "score by parameter")
	for _, one := range v.Slices {
		menu.Pictures = append(menu.Pictures, savedPicture{Label: one.Label, Name: one.Key, URL: one.URL})
	}
	return menu
}

// studyData answers with a table of a study as CSV, without secrets.
func (c *Console) studyData(w http.ResponseWriter, r *http.Request) {
	d, err := c.drawnStudy(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	of, comma, name := r.FormValue("of"), ',', r.FormValue("of")+".csv"
	write, known := map[string]func(*csv.Writer) error{dataTrials: d.writeTrials, dataSteps: d.writeSteps, dataImportance: d.writeImportance}[of]
	if !known {
		c.fail(w, r, notThere("A study has no table %q: expected %s, %s or %s.", of, dataTrials, dataSteps, dataImportance))
		return
	}
	kind := "text/csv"
	if r.FormValue("as") == "tabs" {
		kind, comma, name = "text/tab-separated-values", '\t', of+".tsv"
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	out := csv.NewWriter(w)
	out.Comma = comma
	_ = write(out) // the client may be gone
	out.Flush()
}

// writeTrials writes a line a trial, with all values and metrics.
func (d drawnStudy) writeTrials(out *csv.Writer) error {
	shown := d.Report
	shown.Trials = slices.Clone(shown.Trials)
	for i := range shown.Trials {
		row := &shown.Trials[i]
		row.Message = cellOf(mask.Text(runs.PlainText(row.Message)))
		row.Values = slices.Clone(row.Values)
		for j, value := range row.Values {
			if _, text := value.Of.(string); text {
				row.Values[j].Of = cellOf(chart.ValueText(value.Of))
			}
		}
	}
	return shown.WriteCSV(out)
}

// writeSteps writes a line for each value that a trial reported on its way.
func (d drawnStudy) writeSteps(out *csv.Writer) error {
	if err := out.Write([]string{"trial", "metric", "step", "value"}); err != nil {
		return err
	}
	for _, trial := range d.State.Study.Trials {
		for _, metric := range slices.Sorted(maps.Keys(trial.Curves)) {
			for _, p := range trial.Curves[metric] {
				if err := out.Write([]string{trial.ID, cellOf(metric), strconv.Itoa(p.Step), number(p.Value)}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d drawnStudy) writeImportance(out *csv.Writer) error {
	if err := out.Write([]string{"parameter", "share_of_variance", "explained_alone", "trials"}); err != nil {
		return err
	}
	for _, p := range d.Explanation.Parameters {
		if err := out.Write([]string{cellOf(p.Parameter), number(p.Share), number(p.Explained), strconv.Itoa(p.Trials)}); err != nil {
			return err
		}
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// cellOf returns a text as a cell that spreadsheets take for a text: modules write messages and
// names, and one that begins like a formula would be computed.
func cellOf(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) && !filter.IsNumber(text) {
		return "'" + text
	}
	return text
}
