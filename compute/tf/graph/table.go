package graph

import (
	"errors"
	"fmt"
	"path/filepath"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// filled finds the table that a node fills, and the references of the keys and values.
func (s *scope) filled(def *nodepb.NodeDef, inputs int) (*ops.Table, []string, error) {
	references := dataInputs(def.GetInput())
	if len(references) != inputs {
		return nil, nil, fmt.Errorf("has %d inputs, wants %d", len(references), inputs)
	}
	slot, err := s.resolve(references[0])
	if err != nil {
		return nil, nil, err
	}
	t, ok := s.plan.start[slot].(*ops.Table)
	if !ok {
		return nil, nil, errors.New("input 0 is no table that is known beforehand")
	}
	return t, references[1:], nil
}

// fillFromText reads a vocabulary file.
func (s *Session) fillFromText(in *scope, def *nodepb.NodeDef) error {
	t, from, err := in.filled(def, 2)
	if err != nil {
		return err
	}
	paths, err := in.texts(from[0])
	if err != nil {
		return err
	}
	if len(paths) != 1 || !s.isAsset(paths[0]) {
		return errors.New("its file isn't an asset")
	}
	n := &ops.Node{Def: def}
	keys, values, err := readTextTable(s.budget, paths[0], textColumns{
		key: n.Integer("key_index", 0), value: n.Integer("value_index", 0), delimiter: n.Text("delimiter", "\t"),
		offset: n.Integer("offset", 0), keyType: t.Key, valueType: t.Value,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	return inFile(paths[0], t.Fill(s.budget, keys, values))
}

// inFile adds the name of the vocabulary to an error.
func inFile(path string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: vocabulary %s: %w", ErrFiles, filepath.Base(path), err)
	}
	return nil
}

// fillFromLists takes keys and values from the graph, or from saved tensors.
func (s *Session) fillFromLists(in *scope, def *nodepb.NodeDef) error {
	t, from, err := in.filled(def, 3)
	if err != nil {
		return err
	}
	var lists [2]tensor.Tensor
	for i, reference := range from {
		if lists[i], err = s.known(in, reference); err != nil {
			return fmt.Errorf("input %d: %w", i+1, err)
		}
	}
	return t.Fill(s.budget, lists[0], lists[1])
}

// known returns a tensor that was saved, or is known beforehand.
func (s *Session) known(in *scope, reference string) (tensor.Tensor, error) {
	from, isSaved, err := in.saved(reference, 0)
	if err != nil {
		return nil, err
	}
	if isSaved {
		return s.load(from)
	}
	slot, err := in.resolve(reference)
	if err != nil {
		return nil, err
	}
	if t, ok := in.plan.start[slot].(tensor.Tensor); ok {
		return t, nil
	}
	return nil, errors.New("isn't known beforehand")
}

// fillFromRecords reads a vocabulary that is a file of records.
func (s *Session) fillFromRecords(in *scope, def *nodepb.NodeDef) error {
	t, from, err := in.filled(def, 2)
	if err != nil {
		return err
	}
	slot, err := in.resolve(from[0])
	if err != nil {
		return err
	}
	set, ok := in.plan.start[slot].(*dataset)
	if !ok {
		return errors.New("its data set isn't known beforehand")
	}
	keys, values, err := readRecordTable(s.budget, set.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	return inFile(set.path, t.Fill(s.budget, keys, values))
}
