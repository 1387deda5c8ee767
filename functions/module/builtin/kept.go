package builtin

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/functions/module"
)

// data is what one look at a job's data has told. Only its held rows come later.
type data struct {
	dataset
	survey *survey

	held *held // evaluation rows of a trial; nil: not read yet
}

func newData(ctx context.Context, c config, a module.Assignment) (*data, error) {
	d, err := newDataset(c, a)
	if err != nil {
		return nil, err
	}
	s, err := newSurvey(ctx, d, a.TrainFiles, c.ClassWeights == balanced)
	if err != nil {
		return nil, err
	}
	return &data{dataset: d, survey: s}, nil
}

// kept is what the trials of a study have in common, for a process that serves several of them: they look at the same data. It
// holds that of the last study, and nothing of what is no trial.
type kept struct {
	mu   sync.Mutex
	key  string
	data *data
}

// look looks at the data, or remembers what a trial before has seen of them.
func (k *kept) look(ctx context.Context, c config, a module.Assignment) (*data, error) {
	if a.Trial == nil || a.Trial.Study == "" {
		return newData(ctx, c, a)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err := keyOf(c, a)
	if err != nil {
		return nil, err
	}
	if k.data != nil && k.key == key {
		return k.data, nil
	}
	k.key, k.data = "", nil // of two studies there is no room for both
	d, err := newData(ctx, c, a)
	if err == nil {
		k.key, k.data = key, d
	}
	return d, err
}

// keyOf is the same for two trials only if they look at the same data. A study is known by a digest of its inputs; that the files
// are still those is seen by their sizes and times.
func keyOf(c config, a module.Assignment) (string, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "%s %q %q %d %d %d %s %t %q %q", a.Trial.Study, c.Label, c.Task, c.NumClasses, c.EvalBatchSize, steps(a.EvalSteps),
		a.PayloadFormat, a.Transformed, a.SchemaPath, a.TransformGraphPath)
	fmt.Fprintf(&key, " %q %q %q %v", c.Features, c.ExcludeFeatures, c.WeightColumn, c.ClassWeights == balanced)
	files, err := example.Files(slices.Concat(a.TrainFiles, a.EvalFiles)...)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&key, " %q %d %d", file, info.Size(), info.ModTime().UnixNano())
	}
	return key.String(), nil
}
