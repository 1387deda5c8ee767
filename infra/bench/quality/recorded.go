package quality

import (
	"bufio"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
)

//go:embed testdata/*.jsonl
var recordings embed.FS

// Recording is what record.py kept of one sampler.
type Recording struct {
	Sampler  string            `json:"sampler"`
	About    string            `json:"about"`
	Versions map[string]string `json:"versions"`
	Runs     []Run             `json:"-"`
}

// Samplers of peers, as record.py names them.
const (
	OptunaRandom  = "optuna-random"
	OptunaTPE     = "optuna-tpe"
	OptunaGP      = "optuna-gp"
	KerasRandom   = "keras-random"
	KerasBayesian = "keras-bayesian"
)

// Recorded are the peers' runs, by sampler.
func Recorded() (map[string]Recording, error) {
	files, err := recordings.ReadDir("testdata")
	if err != nil {
		return nil, err
	}
	all := map[string]Recording{}
	for _, file := range files {
		recording, err := open(path.Join("testdata", file.Name()))
		if err != nil {
			return nil, fmt.Errorf("recording %s: %w", file.Name(), err)
		}
		all[recording.Sampler] = recording
	}
	return all, nil
}

func open(name string) (Recording, error) {
	file, err := recordings.Open(name)
	if err != nil {
		return Recording{}, err
	}
	defer file.Close()
	return read(file)
}

// read takes a header and one run a line.
func read(from io.Reader) (r Recording, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, longestLineBytes)
	for number := 1; lines.Scan(); number++ {
		if number == 1 {
			err = json.Unmarshal(lines.Bytes(), &r)
		} else {
			var run Run
			err = json.Unmarshal(lines.Bytes(), &run)
			r.Runs = append(r.Runs, run)
		}
		if err != nil {
			return r, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return r, lines.Err()
}

// After are the best values of a function after so many trials, one a run that went as far.
func After(runs []Run, function string, trials int) (best []float64) {
	for _, r := range runs {
		if r.Function == function && r.Trials >= trials {
			best = append(best, r.After(trials))
		}
	}
	return best
}
