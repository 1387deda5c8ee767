package main

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed compute_train.py
var trainScript string

// peerWork is a work as the script gets it.
type peerWork struct {
	Name       string       `json:"name"`
	File       string       `json:"file"`
	Batch      int          `json:"batch"`
	Numbers    []string     `json:"numbers"`
	Width      int          `json:"width"`
	Classes    []classInput `json:"classes"`
	Label      string       `json:"label"`
	Hidden     []int        `json:"hidden"`
	Activation *string      `json:"activation"` // null: none
	Units      int          `json:"units"`
	Optimizer  string       `json:"optimizer"`
	Rate       float64      `json:"rate"`

	Mode  string `json:"mode"`
	Wide  string `json:"wide"`
	Steps int    `json:"steps"`
}

func (w work) request(file string) peerWork {
	request := peerWork{Name: w.name, File: file, Batch: w.batch, Numbers: w.numbers, Width: w.width, Classes: append([]classInput{}, w.classes...), Label: w.label.Feature,
		Hidden: w.hidden, Units: w.units(), Optimizer: "adam", Rate: learningRate}
	if w.act != "" {
		request.Activation = new(strings.ToLower(string(w.act)))
	}
	return request
}

// mode is one way in which TensorFlow trains a work.
type mode struct {
	name    string // as the script knows it
	wide    string // one_hot or lookup; "" where the work has no classes
	threads int
}

func (m mode) String() string {
	parts := []string{m.name, m.wide, map[int]string{1: "one thread", 2: "two threads"}[m.threads]}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// modes are all ways, at so many threads. Classes as rows of one table take TensorFlow less than
// one-hot rows, as TFX's example has them: of these there are the plain fit, and what is best.
func (w work) modes(threads int) (all []mode) {
	if len(w.classes) > 0 {
		for _, name := range []string{"fit", "fit, 50 steps at once, XLA", "loop, XLA"} {
			all = append(all, mode{name, "one_hot", threads})
		}
	}
	wide := ""
	if len(w.classes) > 0 {
		wide = "lookup"
	}
	for _, name := range []string{"fit", "fit, XLA", "fit, 50 steps at once", "fit, 50 steps at once, XLA", "loop", "loop, XLA", "loop, fused Adam"} {
		all = append(all, mode{name, wide, threads})
	}
	return all
}

// plain is Keras's fit as it is when nothing is said: the slowest, which is given fewer steps.
func (m mode) plain() bool { return m.name == "fit" || m.name == "fit, XLA" }

// train is what TensorFlow takes for a round.
func (p *tensorflow) train(w work, file string, m mode) (c cost, err error) {
	request := w.request(file)
	request.Mode, request.Wide, request.Steps = m.name, m.wide, w.steps.peer
	if m.plain() {
		request.Steps = max(w.steps.peer/4, 1)
	}
	_, err = p.call(trainScript, "train", request, &c)
	return c, err
}
