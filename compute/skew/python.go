package skew

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed ask.py
var askScript []byte

// pythonTime bounds how long TensorFlow may take: importing it takes seconds, a large model some more.
const pythonTime = 5 * time.Minute

// python is TensorFlow in a process of its own.
type python struct {
	interpreter string
	model       string
}

func (p python) name() string { return "tensorflow" }

func (p python) ask(ctx context.Context, questions []question) ([]map[string]column, error) {
	answers, err := p.run(ctx, questions)
	if err != nil {
		return nil, unable{err}
	}
	if len(answers) != len(questions) {
		return nil, unable{fmt.Errorf("%d answers to %d questions", len(answers), len(questions))}
	}
	var all []map[string]column
	for i, q := range questions {
		if answers[i].Error != "" {
			return nil, errors.New(answers[i].Error)
		}
		outputs, err := answers[i].tensors()
		if err != nil {
			return nil, unable{err}
		}
		answer, err := columns(q.signature, outputs, q.rows)
		if err != nil {
			return nil, unable{err}
		}
		all = append(all, answer)
	}
	return all, nil
}

// run has the script answer in a folder of its own.
func (p python) run(ctx context.Context, questions []question) (answers []wireAnswer, err error) {
	dir, err := os.MkdirTemp("", "skew-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	script, asked, answered := filepath.Join(dir, "ask.py"), filepath.Join(dir, "questions.json"), filepath.Join(dir, "answers.json")
	text, err := json.Marshal(wireQuestions(questions))
	if err == nil {
		err = errors.Join(os.WriteFile(script, askScript, 0o600), os.WriteFile(asked, text, 0o600))
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pythonTime)
	defer cancel()
	command := exec.CommandContext(ctx, p.interpreter, "-I", script, p.model, asked, answered)
	command.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=2")
	command.WaitDelay = time.Second
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", p.interpreter, cmp.Or(context.Cause(ctx), err), tail(out))
	}
	text, err = os.ReadFile(answered)
	if err == nil {
		err = json.Unmarshal(text, &answers)
	}
	return answers, err
}

// tail is the end of what a process said.
func tail(out []byte) []byte {
	const most = 2000
	out = bytes.TrimSpace(out)
	return out[max(0, len(out)-most):]
}
