package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// computeRounds is how often each engine trains each work, in turn.
const computeRounds = 5

// compute measures training, reading included, compared with TensorFlow's ways of doing the same.
// Each work is a model with data of its own.
func (b bench) compute(ctx context.Context) (all []figure, err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if all, err = b.firstSteps(ctx, dir); err != nil {
		return nil, err
	}
	err = withTensorFlow(ctx, 2, b.log, func(two *tensorflow) error {
		return withTensorFlow(ctx, 1, b.log, func(one *tensorflow) error {
			for _, w := range works() {
				figures, err := b.training(ctx, w, dir, peers{1: one, 2: two})
				if err != nil {
					return fmt.Errorf("work %s: %w", w.name, err)
				}
				all = append(all, figures...)
			}
			return nil
		})
	})
	return all, err
}

// peers are processes of TensorFlow by their threads.
type peers map[int]*tensorflow

// training measures one work.
func (b bench) training(ctx context.Context, w work, dir string, peers peers) ([]figure, error) {
	file := filepath.Join(dir, w.name)
	if err := w.write(file, w.rows); err != nil {
		return nil, err
	}
	r := race{work: w, file: file, peers: peers, theirs: map[mode][]cost{}}
	r.modes = append(w.modes(2), w.modes(1)...)
	for range b.times(computeRounds) {
		if err := r.round(ctx); err != nil {
			return nil, err
		}
	}
	return r.figures(), nil
}
