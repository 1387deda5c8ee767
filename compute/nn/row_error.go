package nn

import "fmt"

// RowError is what is wrong with one row of a batch, counted from 0, at a node of the graph.
type RowError struct {
	Row  int
	Node string
	Err  error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

func (e *RowError) Unwrap() error { return e.Err }

// outside is the error of an index that is not within 0..size-1: place i of the values of a node's operand.
func (s *step) outside(i int, index int64, size int) error {
	return &RowError{Row: i / s.in[0].Width, Node: s.node.Name, Err: fmt.Errorf("index %d is outside 0..%d", index, size-1)}
}
