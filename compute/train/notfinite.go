package train

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// locate adds to an error of a step which rows it belongs to, and which features if one row is at
// fault: an Evaluator, which computes one row after the other, finds these.
func (l *loop) locate(err error, b nn.Batch) error {
	if _, found := trace(l.model.Graph, b); found != nil {
		err = found
	}
	return blame(err, l.model.Graph, l.origins)
}

// blame adds to an error of computing a batch where its rows come from, and for a single row also
// the features.
func blame(err error, g *nn.Graph, rows []example.Origin) error {
	var bad *nn.RowError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &bad) && len(rows) > 0:
		return fmt.Errorf("batch%s: %w", of(rows), err)
	case bad == nil:
		return err
	}
	features := strings.Join(g.InputsOf(bad.Node), ", ")
	if bad.Row >= len(rows) {
		return fmt.Errorf("%w: feature %q: %w", example.ErrInput, features, err)
	}
	at := rows[bad.Row]
	return &example.Error{File: at.File, Record: at.Record, Feature: features, Err: err}
}

// trace computes all nodes of a graph for a batch.
func trace(g *nn.Graph, b nn.Batch) (*nn.Evaluator, error) {
	e, err := nn.NewEvaluator(g, g.NodeNames()...)
	if err == nil {
		err = e.Run(b.Inputs)
	}
	return e, err
}

// notFinite returns the error of a loss that isn't finite: which layer is the first whose numbers
// aren't finite, and for which rows.
func (l *loop) notFinite(loss float32, b nn.Batch) error {
	if err := l.program.Sync(); err != nil {
		return err
	}
	err := fmt.Errorf("loss is %w: %v", ErrNotFinite, loss)
	name, at := l.spoiltParam()
	if name != "" {
		return fmt.Errorf("%w: step %d%s made a number of param %q %v; a smaller learning rate may help",
			err, l.result.Steps, batch(l.before), name, at)
	}
	return fmt.Errorf("%w: %s%s; a smaller learning rate may help", err, l.firstNotFinite(b), batch(l.origins))
}

// batch describes a batch by its rows if they are known.
func batch(rows []example.Origin) string {
	if len(rows) == 0 {
		return ""
	}
	return ", batch" + of(rows)
}

// firstNotFinite returns the first node, in the order of computation, that has such a number for
// the batch.
func (l *loop) firstNotFinite(b nn.Batch) string {
	node, err := firstNotFinite(l.model.Graph, b, l.origins)
	if err != nil {
		return fmt.Sprintf("looking for the layer: %v", err)
	}
	if node != "" {
		return node
	}
	return fmt.Sprintf("all layers are finite, %s of their result is not", l.model.Loss.Name())
}

// firstNotFinite describes the first node of g whose value for b is not finite; "" if all are
// finite.
func firstNotFinite(g *nn.Graph, b nn.Batch, rows []example.Origin) (string, error) {
	e, err := trace(g, b)
	if err != nil {
		return "", err
	}
	for _, n := range g.Nodes {
		v := e.Value(n.Name)
		for i, x := range v.Floats {
			if !finite(float64(x)) {
				return fmt.Sprintf("node %q, %s, is the first that isn't finite: %v in row %d%s", n.Name, n.Op, x, i/v.Width, recordOf(i/v.Width, rows)), nil
			}
		}
	}
	return "", nil
}

// recordOf returns the position of a row of a batch, if that is known.
func recordOf(row int, rows []example.Origin) string {
	if row >= len(rows) {
		return ""
	}
	return fmt.Sprintf(" (record %d of %s)", rows[row].Record, rows[row].File)
}

// badLoss is a row of an evaluation whose loss is not finite.
type badLoss struct {
	row  int
	loss float64
}

func (e badLoss) Error() string { return fmt.Sprintf("loss is %v: %v", ErrNotFinite, e.loss) }

func (e badLoss) Unwrap() error { return ErrNotFinite }

// explain adds to a bad loss of a batch which node it comes from.
func explain(err error, m *nn.Model, b nn.Batch, rows []example.Origin) error {
	bad, ok := err.(badLoss)
	if !ok {
		return err
	}
	node, traced := firstNotFinite(m.Graph, b, rows)
	if traced != nil {
		return errors.Join(err, traced)
	}
	if node != "" {
		return fmt.Errorf("%w: %s", err, node)
	}
	return fmt.Errorf("%w: all layers are finite, %s of their result in row %d%s is not", err, m.Loss.Name(), bad.row, recordOf(bad.row, rows))
}

// spoiltParam returns the first trained param with a number that isn't finite, "" if there is none.
func (l *loop) spoiltParam() (name string, number float32) {
	for _, p := range l.model.Graph.Params {
		if !p.Trainable && !p.Moving {
			continue
		}
		for _, w := range p.Values {
			if !finite(float64(w)) {
				return p.Name, w
			}
		}
	}
	return "", 0
}

// sound returns an error for weights that aren't finite: the loss of a step is the one before its
// update, so it doesn't reveal the effect of the last one.
func (l *loop) sound() error {
	if err := l.program.Sync(); err != nil {
		return err
	}
	if name, w := l.spoiltParam(); name != "" {
		return fmt.Errorf("train: after step %d%s a weight of %q is %w: %v; a smaller learning rate may help",
			l.result.Steps, batch(l.origins), name, ErrNotFinite, w)
	}
	return nil
}
