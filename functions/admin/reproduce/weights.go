package reproduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
	"github.com/stoker-ml/stoker/storage"
)

// Weights compares the variables of two models.
type Weights struct {
	Compared int     `json:"compared"`           // number of numbers that were compared
	Largest  float64 `json:"largest_difference"` // largest absolute difference
	Where    string  `json:"where,omitempty"`    // the variable that has it
	// Variables that only one model has, or that differ in shape or type.
	Unlike []string `json:"unlike,omitempty"`
}

var errNoWeights = errors.New("a model has no variables in Format-Serving")

// weights compares the variables of two models in TensorFlow's own format.
func weights(ctx context.Context, store storage.Store, then, again, dir string) (*Weights, error) {
	dir, err := os.MkdirTemp(dir, "stoker-reproduce-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	a, err := variables(ctx, store, then, filepath.Join(dir, "then"))
	if err != nil {
		return nil, err
	}
	b, err := variables(ctx, store, again, filepath.Join(dir, "again"))
	if err != nil {
		return nil, err
	}
	return compareWeights(a, b)
}

// variables copies the files of a model's variables, and opens them.
func variables(ctx context.Context, store storage.Store, uri, dir string) (*tensorbundle.Bundle, error) {
	all, err := listing(ctx, store, uri)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	found := false
	for _, file := range all.Files {
		if path.Dir(file.Path) != servingWeights || !strings.HasPrefix(path.Base(file.Path), "variables.") {
			continue
		}
		found = true
		if err := fetch(ctx, store, all.Ref.Join(file.Path), filepath.Join(dir, path.Base(file.Path))); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", uri, errNoWeights)
	}
	return tensorbundle.Open(filepath.Join(dir, "variables"))
}

func fetch(ctx context.Context, store storage.Store, from storage.Ref, to string) (err error) {
	body, _, err := store.Open(ctx, from, "")
	if err != nil {
		return fmt.Errorf("fetch %s: %w", from, err)
	}
	defer body.Close()
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, body)
	return errors.Join(err, file.Close())
}

// compareWeights compares variable by variable, so that no more than two are in memory at a time.
// It ignores variables that are not numbers, such as the graph of a checkpoint's objects, because
// they are not learned.
func compareWeights(a, b *tensorbundle.Bundle) (*Weights, error) {
	w := &Weights{}
	others := map[string]tensorbundle.Variable{}
	for _, v := range b.Variables() {
		others[v.Key] = v
	}
	for _, v := range a.Variables() {
		other, both := others[v.Key]
		delete(others, v.Key)
		switch {
		case !both:
			w.Unlike = append(w.Unlike, v.Key+": only in the original")
		case v.DType != other.DType || !slices.Equal(v.Shape, other.Shape):
			w.Unlike = append(w.Unlike, fmt.Sprintf("%s: %s %v in the original, %s %v in the new model", v.Key, v.DType, v.Shape, other.DType, other.Shape))
		case v.DType == "DT_STRING":
		default:
			if err := w.compare(a, b, v.Key); err != nil {
				return nil, err
			}
		}
	}
	for key := range others {
		w.Unlike = append(w.Unlike, key+": only in the new model")
	}
	slices.Sort(w.Unlike)
	return w, nil
}

func (w *Weights) compare(a, b *tensorbundle.Bundle, key string) error {
	then, _, err := a.Numbers(key)
	if err != nil {
		return err
	}
	again, _, err := b.Numbers(key)
	if err != nil {
		return err
	}
	w.Compared += len(then)
	for i, value := range then {
		if d := distance(float64(value), float64(again[i])); d > w.Largest {
			w.Largest, w.Where = d, key
		}
	}
	return nil
}
