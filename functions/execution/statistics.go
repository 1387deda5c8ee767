package execution

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/compute/example"
)

// SplitFolder begins the name of a split's folder in an artifact.
const SplitFolder = "Split-"

// StatisticsFile is the name of a split's statistics in an ExampleStatistics artifact.
const StatisticsFile = "FeatureStats.pb"

// numExamples is how many records each split has, as the staged ExampleStatistics artifact says; nil if the job has none.
func numExamples(statistics string) (map[string]int64, error) {
	if There(statistics) == "" {
		return nil, nil
	}
	folders, err := os.ReadDir(statistics)
	if err != nil {
		return nil, fmt.Errorf("statistics: %w", err)
	}
	counts := map[string]int64{}
	for _, folder := range folders {
		split, ok := strings.CutPrefix(folder.Name(), SplitFolder)
		if !ok || !folder.IsDir() {
			continue
		}
		if counts[split], err = example.ReadNumExamples(filepath.Join(statistics, folder.Name(), StatisticsFile)); err != nil {
			return nil, fmt.Errorf("statistics: %w", err)
		}
	}
	if len(counts) == 0 {
		return nil, fmt.Errorf("statistics: no Split-<name>/FeatureStats.pb in it")
	}
	return counts, nil
}
