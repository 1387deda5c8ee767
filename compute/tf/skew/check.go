package skew

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// Question is what is compared with what. Paths are local.
type Question struct {
	Model string // the folder of the SavedModel: Format-Serving

	// Raw are patterns of files of tf.Examples as requests have them, nil if there are none, and
	// Transformed of the same rows after the transform graph, nil if the model has none or nobody
	// has kept them.
	Raw, Transformed []string

	// Predictions is a file of what the model in memory said of the first rows of what it was
	// evaluated on: of Transformed if there are any, else of Raw. It is as export.Predict writes
	// it. "" or a file that isn't there: nobody said anything.
	Predictions string

	// Memory is a file of what the model in memory said of rows that it was evaluated on, in any
	// order, with the features that it was given of each: see memory. It counts where there are no
	// Predictions. "" or a file that isn't there: nobody said anything.
	Memory string

	// TransformGraph is the transform graph that Transformed rows went through, "" if there is
	// none.
	TransformGraph string

	// Synthetic are the rows that Synthesize made for a run without Raw, nil for none. They are
	// asked in place of raw rows, and compared with what Memory has of each.
	Synthetic [][]byte

	// Labels are raw features that requests don't have. They are taken out of the rows before the
	// model is asked for its outputs.
	Labels []string

	// Schema is a schema file that names more of them: the features that it keeps out of its
	// environment SERVING. "" for none.
	Schema string

	Rows      int          // how many are asked, at most
	Tolerance float64      // see DefaultTolerance
	Python    string       // an interpreter that has TensorFlow, which is asked too; "" for none
	Fallback  string       // one that is asked only where Go's reader can't execute all of the model, or finds it wrong: it takes seconds to start; "" for none
	Logger    *slog.Logger `json:"-"`
}

// DefaultTolerance is how far two answers may lie apart: so much absolutely, and so much of the
// largest number that the output has in that row, or in nine of ten rows where that is more. Both
// sides compute in float32, of which each step is rounded to 6e-8 of its result, and add up the
// same terms in another order; what they differ by grows with the terms, so that a row whose answer
// is small by chance has no smaller error. A weight, a vocabulary or a feature that is not the same
// shows in the first digits. Where answers lie farther apart, what rounding changes of each is
// found out, and allowed besides: see rounding.go.
const DefaultTolerance = 1e-5

// DefaultRows is how many rows are asked: most of what a feature can look like is among them, and
// they cost milliseconds.
const DefaultRows = 100

// Report is what was found.
type Report struct {
	Rows   int     // that were compared
	Asked  int     // that the serving signature answered
	MaxAbs float64 // the largest difference that was found, of those numbers that are finite on both sides
	Raw    bool    // whether the rows went in raw, as requests do

	// Synthetic says that the rows were made of the transform graph's raw schema, as the run has no
	// raw examples.
	Synthetic bool

	By   []string // who asked the files: go, tensorflow
	Note string   // what was not compared, and why

	// NotCompared says why no output of the serving signature was compared with what the model in
	// memory said, "" where one was.
	NotCompared string

	Differences []Difference // beyond the tolerance, none if all is well. The first few of them
}

// Difference is one answer that is not what it should be.
type Difference struct {
	By     string // who asked
	Row    int    // of the raw rows, or of the transformed ones where there are no raw ones
	Name   string // of the output, or of the transformed feature
	Of     string // output or transformed feature
	Served string // what the files answered
	Want   string // what they should have
}

func (d Difference) String() string {
	return fmt.Sprintf("row %d: %s %q is %s, not %s (asked by %s)", d.Row, d.Of, d.Name, d.Served, d.Want, d.By)
}

// maxDifferences bounds how many differences are reported.
const maxDifferences = 10

// Check asks the model in its files, and compares. Its serving signature is asked for rows without
// their labels, as requests are, whether or not there is anything to compare its answers with. An
// error is one of reading what was said of the rows, or of a model that has an error for a row that
// it was evaluated on, or needs its label, or whose files are damaged. Rows that aren't
// tf.Examples, and a model that nobody here can execute, are none: the note says so.
func Check(ctx context.Context, q Question) (Report, error) {
	if q.Logger == nil {
		q.Logger = slog.New(slog.DiscardHandler)
	}
	d, err := readData(ctx, q)
	if err == nil {
		q.Labels, err = withUnserved(q.Labels, q.Schema)
	}
	if unable, ok := errors.AsType[unable](err); ok {
		return Report{Note: "not checked: " + unable.Error(), NotCompared: unable.Error()}, nil
	}
	if err != nil {
		return Report{}, err
	}
	model, err := savedmodel.Open(q.Model)
	if err != nil {
		return Report{}, err
	}
	r, err := compare(ctx, q, d, model, asRequests)
	if err != nil || len(r.Differences) == 0 || d.memory == nil || len(d.raw) == 0 || len(d.transformed) == 0 {
		return r, err
	}
	// A signature may take features one by one under names that raw and transformed rows share:
	// which of them it wants shows in the answers.
	if again, failed := compare(ctx, q, d, model, asTransformed); failed == nil && again.Asked > 0 && again.NotCompared == "" && len(again.Differences) == 0 {
		return again, nil
	}
	return r, nil
}

// form says how the rows are fed to a signature that takes features one by one.
type form bool

const (
	asRequests    form = false // raw, where it takes these
	asTransformed form = true
)

// compare asks the model all that is to be asked.
func compare(ctx context.Context, q Question, d data, model *savedmodel.Served, fed form) (Report, error) {
	c := &check{question: q, data: d, fed: fed, askers: askers(q, model)}
	if q.Fallback != "" {
		c.fallback = python{q.Fallback, q.Model}
	}
	c.addLabels(c.namedLabels(ctx, c.data.raw))
	unplanned := c.plan(model)
	if unplanned != nil {
		c.uncompared("%v", unplanned)
	}
	if c.refused != nil {
		return Report{}, c.refused
	}
	if c.data.raw == nil {
		if err := c.askSynthetic(ctx, model); err != nil {
			return Report{}, err
		}
	}
	if unplanned != nil && !c.synthetic {
		c.notChecked(unplanned)
	}
	if len(c.questions) == 0 {
		return c.report(), nil
	}
	for _, by := range c.askers {
		if err := c.ask(ctx, by, c.fallback != nil); err != nil {
			return Report{}, err
		}
	}
	if c.fallback != nil && (len(c.verdicts) == 0 || c.doubted() || c.alone() && model.MayFailBesides()) {
		if err := c.ask(ctx, c.fallback, false); err != nil {
			return Report{}, err
		}
	}
	return c.report(), nil
}

// alone says that our reader has answered and nobody else.
func (c *check) alone() bool { return len(c.verdicts) == 1 && c.verdicts[0].by == "go" }

// doubted says that our reader found a difference in a model that others wrote, with nobody to say
// the same.
func (c *check) doubted() bool {
	return c.data.memory != nil && c.alone() && len(c.verdicts[0].differences) > 0
}

// check is one comparison, as it goes on.
type check struct {
	question  Question
	data      data
	fed       form
	questions []question
	askers    []asker
	fallback  asker // nil for none

	synthetic  bool // synthetic rows are compared
	answered   int  // synthetic rows that the serving signature answered
	answeredBy []string

	refused error  // why the model can't be served, as its signature shows
	outputs string // why no outputs are compared, "" if they are

	rounding roundingOfAll // once it was asked for: as whoever found the first difference has found it
	verdicts []verdict
	notes    []string
}

// verdict is what one asker found.
type verdict struct {
	by    string
	asked int // rows that the serving signature answered
	comparison
}

func (c *check) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// notChecked notes why nothing was planned, before what was found with synthetic rows.
func (c *check) notChecked(err error) {
	text := err.Error()
	if c.data.raw == nil && c.answered == 0 {
		text = "not checked: " + text
	}
	c.notes = slices.Insert(c.notes, 0, text)
}

// noteOnce notes what is found with each asker and question.
func (c *check) noteOnce(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// ask has one of them ask the model, and compares what comes out. An error of the model is none
// where it is doubted: another one is to be asked then.
func (c *check) ask(ctx context.Context, by asker, doubted bool) error {
	answers, err := by.ask(ctx, c.questions)
	if unable, ok := errors.AsType[unable](err); ok {
		c.question.Logger.Warn("the model is not asked", "by", by.name(), "why", unable.error)
		c.note("not asked by %s: %v", by.name(), unable.error)
		return nil
	}
	if failed, ok := errors.AsType[modelError](err); ok && doubted {
		c.question.Logger.Warn("the model has an error", "by", by.name(), "error", failed.error)
		c.note("asked by %s, the model has an error", by.name())
		return nil
	}
	if failed, ok := errors.AsType[modelError](err); ok && c.needsLabels(ctx, by, failed.question) {
		return fmt.Errorf("the signature %s has an error for rows without the label %s, which requests don't have, and none for rows with it: %w",
			c.questions[failed.question].signature.Name, quoted(c.questions[failed.question].without), failed.error)
	}
	if err != nil {
		return fmt.Errorf("the model in its files, asked by %s: %w", by.name(), err)
	}
	v := c.compare(by, answers)
	if len(v.differences) > 0 && c.rounding == nil {
		if c.rounding, err = roundings(ctx, by, c.questions, answers, c.question.Tolerance); err != nil {
			c.note("how much of that is rounding is not known: %v", err)
		}
	}
	if len(v.differences) > 0 && c.rounding != nil {
		v = c.compare(by, answers)
	}
	if v.undecided > 0 {
		c.noteOnce("answers that are not compared, as rounding decides what they are: %d", v.undecided)
	}
	c.verdicts = append(c.verdicts, v)
	return nil
}

// needsLabels says whether a question that the model has an error for has an answer where the rows
// have their labels.
func (c *check) needsLabels(ctx context.Context, by asker, failed int) bool {
	if len(c.questions[failed].without) == 0 {
		return false
	}
	same := slices.IndexFunc(c.questions, func(q question) bool {
		return q.signature.Name == c.questions[failed].signature.Name && len(q.without) == 0
	})
	if same < 0 {
		return false
	}
	_, err := by.ask(ctx, c.questions[same:same+1])
	return err == nil
}

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strconv.Quote(name)
	}
	return strings.Join(list, ", ")
}

// compare compares what one asker was answered, as far as is known by now what rounding changes.
func (c *check) compare(by asker, answers []map[string]column) verdict {
	v := verdict{by: by.name()}
	v.tolerance = c.question.Tolerance
	for i, q := range c.questions {
		v.rounding = c.rounding.of(i)
		if q.signature.Name != featuresSignature {
			v.asked = max(v.asked, q.rows)
		}
		if q.compare != nil {
			q.compare(c, &v, answers[i])
		}
	}
	return v
}

// report sums up. Where TensorFlow has compared rows too, its word counts: it is what will serve
// the model.
func (c *check) report() Report {
	r := Report{Raw: c.data.raw != nil || c.synthetic, Synthetic: c.synthetic, NotCompared: c.outputs, Asked: c.answered}
	if len(c.verdicts) == 0 {
		r.By = c.answeredBy
	}
	if len(c.verdicts) == 0 && r.NotCompared == "" {
		r.NotCompared = strings.Join(c.notes, "; ")
	}
	for _, v := range c.verdicts {
		r.By = append(r.By, v.by)
		r.Asked = max(r.Asked, v.asked)
		r.Rows, r.MaxAbs = max(r.Rows, v.rows), max(r.MaxAbs, v.maxAbs)
	}
	heard := slices.DeleteFunc(slices.Clone(c.verdicts), func(v verdict) bool { return v.rows == 0 && len(v.differences) == 0 })
	if n := len(heard); n > 0 {
		r.Differences = heard[n-1].differences
		for _, v := range heard[:n-1] {
			if len(v.differences) > 0 && len(r.Differences) == 0 {
				c.note("%s finds that %v, %s doesn't", v.by, v.differences[0], heard[n-1].by)
			}
		}
	}
	r.Note = strings.Join(c.notes, "; ")
	return r
}
