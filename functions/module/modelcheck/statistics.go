package modelcheck

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/drift"
)

// Drift asks for the distance between two ExampleStatistics artifacts that events name, for some of
// their splits.
type Drift struct {
	Before string   `json:"before"`
	After  string   `json:"after"`
	Splits []string `json:"splits"`
}

// Names in an ExampleStatistics artifact, as TFX lays it out.
const (
	splitFolder    = "Split-"
	statisticsFile = "FeatureStats.pb"
)

// distances returns the distance of the most distant feature of each split.
func (d Drift) distances() ([]drift.Distance, error) {
	var found []drift.Distance
	for _, split := range d.Splits {
		before, err := readSplit(d.Before, split)
		if err != nil {
			return nil, fmt.Errorf("before: split %q: %w", split, err)
		}
		after, err := readSplit(d.After, split)
		if err != nil {
			return nil, fmt.Errorf("now: split %q: %w", split, err)
		}
		found = append(found, before.Farthest(after))
	}
	return found, nil
}

func readSplit(artifact, split string) (drift.Statistics, error) {
	return drift.ReadStatistics(filepath.Join(artifact, splitFolder+split, statisticsFile))
}

// numExamples returns the number of records of each split.
func numExamples(artifact string) (map[string]int64, error) {
	folders, err := os.ReadDir(artifact)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, folder := range folders {
		split, ok := strings.CutPrefix(folder.Name(), splitFolder)
		if !ok || !folder.IsDir() {
			continue
		}
		if counts[split], err = example.ReadNumExamples(filepath.Join(artifact, folder.Name(), statisticsFile)); err != nil {
			return nil, err
		}
	}
	if len(counts) == 0 {
		return nil, errors.New("it has no Split-<name>/FeatureStats.pb")
	}
	return counts, nil
}
