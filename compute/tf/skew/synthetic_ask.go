package skew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// attempt is one synthetic row, with and without its labels.
type attempt struct {
	plausible     bool
	without, with error // the model's errors
}

// askSynthetic calls the serving signature of a run without raw examples with synthetic raw rows.
// It returns an error for a model that can't be served: one that has an error for a row without its
// label and none for the same row with it, or one that has an error for every row, among them rows
// whose transformed features are like the real ones. Any other error may be caused by the values,
// and is noted.
func (c *check) askSynthetic(ctx context.Context, model served) error {
	serving, err := serving(model.Signatures())
	if err != nil || slices.ContainsFunc(c.questions, func(q question) bool { return q.signature.Name == serving.Name }) {
		return nil // plan returns why, or has called the model
	}
	s, err := newSynthetic(ctx, c.question.TransformGraph, "", c.data.transformed)
	if err != nil {
		c.unasked(serving.Name, err)
		return ctx.Err()
	}
	defer s.close()
	diverse := s.diverse(probedRows)
	c.addLabels(c.namedLabels(ctx, diverse))
	plausible, err := c.plausible(ctx, s)
	if err != nil {
		return err
	}
	rows := append(slices.Clone(plausible), s.variants()...)
	labels := slices.DeleteFunc(slices.Clone(c.question.Labels), func(label string) bool { return !rows[0].has(label) })
	if label := neededAsInput(serving, labels, rows); label != "" {
		return fmt.Errorf("the signature %s needs the label %q as an input, which requests don't have", serving.Name, label)
	}
	if takesExamples(serving, rows) && !strings.Contains(strings.ToLower(serving.Inputs[0].Name), "example") && !model.ParsesExamples() {
		c.unasked(serving.Name, errors.New("it takes strings, and the model has no operation that reads tf.Examples"))
		return nil
	}
	var questions []question
	for _, r := range rows {
		for _, without := range [][]string{labels, nil} {
			calls, err := callsOf(serving, []row{r}, without)
			if err != nil {
				c.unasked(serving.Name, err)
				return nil
			}
			questions = append(questions, question{serving, calls, 1, without, nil})
		}
	}
	by, failures, err := c.lastOf(ctx, questions, model)
	if err != nil || failures == nil {
		return err
	}
	var attempts []attempt
	for i := range rows {
		attempts = append(attempts, attempt{i < len(plausible), failures[2*i], failures[2*i+1]})
	}
	return c.judge(syntheticRows{serving, by, s.spec, labels, rows, len(plausible)}, attempts)
}

// plausible returns the rows that were made before the training, or makes some: the model in memory
// answered only the former.
func (c *check) plausible(ctx context.Context, s *synthetic) ([]row, error) {
	if len(c.question.Synthetic) > 0 {
		return parseRows(c.question.Synthetic)
	}
	return s.plausible(ctx), nil
}

// syntheticRows are the rows that a signature was called with.
type syntheticRows struct {
	serving   graph.Signature
	by        string // the asker
	spec      example.Spec
	labels    []string // that the rows have and requests don't
	rows      []row
	plausible int // rows at the beginning whose transformed features are like the real ones
}

// served are checks of a model in addition to its answers.
type served interface {
	Signatures() []graph.Signature
	ParsesExamples() bool
	MayFailBesides() bool
}

// lastOf lets the askers call the model, as for real rows: the last one that can execute it is
// decisive. There are no failures if no implementation can.
func (c *check) lastOf(ctx context.Context, questions []question, model served) (by string, failures []error, err error) {
	list := c.askers
	ask := func(a asker) error {
		found, err := a.askEach(ctx, questions)
		if unable, ok := errors.AsType[unable](err); ok {
			c.question.Logger.Warn("the model is not asked", "by", a.name(), "why", unable.error)
			c.noteOnce("not asked by %s: %v", a.name(), unable.error)
			return nil
		}
		if err == nil {
			by, failures = a.name(), found
		}
		return err
	}
	for _, a := range list {
		if err := ask(a); err != nil {
			return "", nil, err
		}
	}
	failed := slices.ContainsFunc(failures, func(err error) bool { return err != nil })
	if c.fallback != nil && (failures == nil || by == "go" && (failed || model.MayFailBesides())) {
		if err := ask(c.fallback); err != nil {
			return "", nil, err
		}
	}
	return by, failures, nil
}

// judge refuses a model because of its errors for synthetic rows, or notes the results.
func (c *check) judge(asking syntheticRows, attempts []attempt) error {
	var failed error
	signature, by, spec, labels := asking.serving.Name, asking.by, asking.spec, asking.labels
	answered, plausible, unknown := 0, false, false
	for _, a := range attempts {
		if a.without == nil {
			answered++
			continue
		}
		if a.with == nil && len(labels) > 0 {
			return fmt.Errorf("the signature %s, asked by %s, has an error for synthetic rows without the label %s, which requests don't have, "+
				"and none for rows with it: %w", signature, by, quoted(labels), a.without)
		}
		plausible = plausible || a.plausible
		unknown = unknown || lacksUnknown(a.without, spec) || lacksUnknown(a.with, spec)
		failed = cmp.Or(failed, a.without)
	}
	if answered == 0 && plausible && !unknown {
		return fmt.Errorf("the signature %s, asked by %s, has an error for each of %d synthetic rows, which have the raw features of the transform "+
			"graph's schema without labels, also for those whose transformed features are like the real ones: %w", signature, by, len(attempts), failed)
	}
	if answered == 0 {
		c.question.Logger.Warn("the model has an error for each synthetic row", "by", by, "error", failed)
		c.unasked(signature, errors.New("it has an error for each synthetic row, perhaps because of the values"))
		return nil
	}
	c.answered = answered
	if !slices.Contains(c.answeredBy, by) {
		c.answeredBy = append(c.answeredBy, by)
	}
	uncompared := ""
	if err := c.planSynthetic(asking, attempts); err != nil {
		uncompared = "; its answers are not compared with anything: " + err.Error()
		if c.outputs != "" {
			c.outputs += "; answers to synthetic rows are not compared: " + err.Error()
		}
	}
	c.note("the signature %s answered %d of %d synthetic raw rows, made of the transform graph's raw schema%s", signature, answered, len(attempts), uncompared)
	return nil
}

// unasked records why a signature could not be called with synthetic rows.
func (c *check) unasked(signature string, err error) {
	text := fmt.Sprintf("the signature %s is not asked for synthetic raw rows: %v", signature, err)
	c.noteOnce("%s", text)
	if c.outputs != "" {
		c.outputs += "; " + text
	}
}

// lacksUnknown reports whether an error is one of a feature that is not in the raw schema: the
// publisher's data may still have it.
func lacksUnknown(err error, spec example.Spec) bool {
	failed, ok := errors.AsType[modelError](err)
	return ok && failed.missing != "" && !slices.Contains(spec.Names(), failed.missing)
}
