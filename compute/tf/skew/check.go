package skew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// Question has the files to compare. Paths are local.
type Question struct {
	Model string // the folder of the SavedModel: Format-Serving

	// Raw are patterns of files of tf.Examples like those of requests; nil: there are none.
	// Transformed are those of the same rows after the transform graph; nil: the model has none, or
	// they weren't kept.
	Raw, Transformed []string

	// Predictions is a file of the answers of the model in memory for the first rows of its
	// evaluation data: of Transformed if there are any, else of Raw. It is as export.Predict writes
	// it. "" or a file that doesn't exist: there are none.
	Predictions string

	// Memory is a file of the answers of the model in memory for rows of its evaluation data, in
	// any order, with the features that it was given for each: see memory. It is used if there are
	// no Predictions. "" or a file that doesn't exist: there are none.
	Memory string

	// TransformGraph is the transform graph that Transformed rows went through, "" if there is
	// none.
	TransformGraph string

	// Synthetic are the rows that Synthesize made for a run without Raw, nil for none. The model is
	// called with them instead of raw rows, and its answers are compared with those in Memory.
	Synthetic [][]byte

	// Labels are raw features that requests don't have. They are removed from the rows before the
	// model is called.
	Labels []string

	// Schema is a schema file with more of them: the features that are not in its environment
	// SERVING. "": there is none.
	Schema string

	Rows      int     // the largest number of rows that the model is called with
	Tolerance float64 // see DefaultTolerance
	// An interpreter that has TensorFlow, which executes the model too; "" for none.
	Python string
	// An interpreter that is used only if Go's reader can't execute all of the model, or finds it
	// wrong: it takes seconds to start; "" for none.
	Fallback string
	Logger   *slog.Logger `json:"-"`
}

// DefaultTolerance is the difference that two answers may have: so much absolutely, and so much of
// the largest number that the output has in that row, or in nine of ten rows if that is more. Both
// sides compute in float32, of which each step is rounded to 6e-8 of its result, and add up the
// same terms in another order; the difference grows with the terms, so that a row whose answer is
// small by chance has no smaller error. A different weight, vocabulary or feature changes the first
// digits. If answers differ more, the effect of rounding on each is determined and allowed in
// addition: see rounding.go.
const DefaultTolerance = 1e-5

// DefaultRows is the default number of rows: they include most of the usual values of a feature,
// and take milliseconds.
const DefaultRows = 100

// Report is the result of a check.
type Report struct {
	Rows   int     // that were compared
	Asked  int     // that the serving signature answered
	MaxAbs float64 // the largest difference between numbers that are finite on both sides
	Raw    bool    // whether the rows were raw, as in requests

	// Synthetic reports whether the rows were made from the transform graph's raw schema because
	// the run has no raw examples.
	Synthetic bool

	By   []string // the implementations that executed the files: go, tensorflow
	Note string   // what was not compared, and why

	// NotCompared is the reason why no output of the serving signature was compared with the
	// answers of the model in memory; "" if one was.
	NotCompared string

	Differences []Difference // the first few beyond the tolerance; none if all answers are right
}

// Difference is one answer that differs from the expected one.
type Difference struct {
	By     string // the implementation that executed the files
	Row    int    // of the raw rows, or of the transformed ones where there are no raw ones
	Name   string // of the output, or of the transformed feature
	Of     string // output or transformed feature
	Served string // what the files answered
	Want   string // the expected answer
}

func (d Difference) String() string {
	return fmt.Sprintf("row %d: %s %q is %s, not %s (asked by %s)", d.Row, d.Of, d.Name, d.Served, d.Want, d.By)
}

// maxDifferences limits the reported differences.
const maxDifferences = 10

// Check calls the model in its files, and compares its answers. Its serving signature is called
// with rows without their labels, like requests, whether or not there is anything to compare its
// answers with. Check returns an error if it can't read the answers for the rows, or if the model
// has an error for a row that it was evaluated on, needs its label, or has damaged files. Rows that
// aren't tf.Examples, and a model that can't be executed here, are no errors: the note mentions
// them.
func Check(ctx context.Context, q Question) (Report, error) {
	if q.Logger == nil {
		q.Logger = slog.New(slog.DiscardHandler)
	}
	var model *savedmodel.Served
	var opening errgroup.Group
	opening.Go(func() (err error) { model, err = savedmodel.Open(q.Model); return err })
	d, err := readData(ctx, q)
	if err == nil {
		q.Labels, err = withUnserved(q.Labels, q.Schema)
	}
	notOpened := opening.Wait()
	if unable, ok := errors.AsType[unable](err); ok {
		return Report{Note: "not checked: " + unable.Error(), NotCompared: unable.Error()}, nil
	}
	if err = cmp.Or(err, notOpened); err != nil {
		return Report{}, err
	}
	r, err := compare(ctx, q, d, model, asRequests)
	if err != nil || len(r.Differences) == 0 || d.memory == nil || len(d.raw) == 0 || len(d.transformed) == 0 {
		return r, err
	}
	// A signature may take features one by one under names that raw and transformed rows share: the
	// answers show which of them it needs.
	if again, failed := compare(ctx, q, d, model, asTransformed); failed == nil && again.Asked > 0 && again.NotCompared == "" && len(again.Differences) == 0 {
		return again, nil
	}
	return r, nil
}

// form is how the rows are fed to a signature that takes features one by one.
type form bool

const (
	asRequests    form = false // raw, where it takes these
	asTransformed form = true
)

// compare executes all calls of the model, and compares the answers.
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

// alone reports whether only Go's reader has answered.
func (c *check) alone() bool { return len(c.verdicts) == 1 && c.verdicts[0].by == "go" }

// doubted reports whether Go's reader found a difference in a model that another program wrote, and
// nothing else has confirmed it.
func (c *check) doubted() bool {
	return c.data.memory != nil && c.alone() && len(c.verdicts[0].differences) > 0
}

// check is the state of one comparison.
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

	refused error  // why the model can't be served, by its signature
	outputs string // why no outputs are compared, "" if they are

	rounding roundingOfAll // computed when it is first needed, when a difference was found
	verdicts []verdict
	notes    []string
}

// verdict is the result of one asker.
type verdict struct {
	by    string
	asked int // rows that the serving signature answered
	comparison
}

func (c *check) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// notChecked adds a note why no call was planned, before the results of synthetic rows.
func (c *check) notChecked(err error) {
	text := err.Error()
	if c.data.raw == nil && c.answered == 0 {
		text = "not checked: " + text
	}
	c.notes = slices.Insert(c.notes, 0, text)
}

// noteOnce adds a note once that is found with each asker and question.
func (c *check) noteOnce(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// ask calls the model by one of them, and compares the outputs. A doubted error of the model isn't
// returned: another implementation must execute the model then.
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

// needsLabels reports whether a question for which the model has an error has an answer if the rows
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

// compare compares the answers of one implementation, as far as the effect of rounding is known.
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

// report returns the result. If TensorFlow has compared rows too, its result is decisive, because
// it will serve the model.
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
