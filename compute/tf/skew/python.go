package skew

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

//go:embed ask.py
var askScript []byte

// pythonTime limits the time of TensorFlow: importing it takes seconds, a large model some more.
const pythonTime = 5 * time.Minute

// python is TensorFlow in a separate process.
type python struct {
	interpreter string
	model       string
}

func (p python) name() string { return "tensorflow" }

func (p python) ask(ctx context.Context, questions []question) ([]map[string]column, error) {
	return p.answer(ctx, questions, 0)
}

func (p python) askRounded(ctx context.Context, questions []question, seed uint64) ([]map[string]column, error) {
	return p.answer(ctx, questions, seed)
}

func (p python) askEach(ctx context.Context, questions []question) ([]error, error) {
	answers, err := p.run(ctx, questions, 0)
	if err != nil {
		return nil, unable{err}
	}
	failures := make([]error, len(questions))
	for i, q := range questions {
		if len(answers) < len(q.calls) {
			return nil, unable{fmt.Errorf("%d answers to %d calls", len(answers), len(q.calls))}
		}
		for j, call := range q.calls {
			_, err := p.columns(q, i, call, answers[j])
			if failed, ok := errors.AsType[modelError](err); ok {
				failures[i] = failed
			} else if err != nil {
				return nil, err
			}
		}
		answers = answers[len(q.calls):]
	}
	return failures, nil
}

// answer calls the model as it is, for seed 0, or rounded differently.
func (p python) answer(ctx context.Context, questions []question, seed uint64) ([]map[string]column, error) {
	answers, err := p.run(ctx, questions, seed)
	if err != nil {
		return nil, unable{err}
	}
	var all []map[string]column
	for i, q := range questions {
		if len(answers) < len(q.calls) {
			return nil, unable{fmt.Errorf("%d answers to %d calls", len(answers), len(q.calls))}
		}
		answer := map[string]column{}
		for j, call := range q.calls {
			part, err := p.columns(q, i, call, answers[j])
			if err != nil {
				return nil, err
			}
			join(answer, part, j == 0)
		}
		answers, all = answers[len(q.calls):], append(all, q.trimmed(answer))
	}
	return all, nil
}

// columns returns the outputs of one call. An error of the model is one of the question.
func (p python) columns(q question, number int, call call, answer wireAnswer) (map[string]column, error) {
	if answer.Unable != "" {
		return nil, unable{fmt.Errorf("the signature %s can't be executed on this machine's processor: %s", q.signature.Name, errorName(answer.Unable))}
	}
	if answer.Error != "" {
		return nil, modelError{number, fmt.Errorf("the signature %s ends with TensorFlow's %s, whose message is in no log: "+
			"call it with the first rows of the evaluation data to see it", q.signature.Name, errorName(answer.Error)), answer.Missing}
	}
	outputs, err := answer.tensors()
	if err != nil {
		return nil, unable{err}
	}
	part, err := columns(q.signature, outputs, call.rows)
	if err != nil {
		return nil, unable{err}
	}
	return part, nil
}

// run executes the script in a directory of its own.
func (p python) run(ctx context.Context, questions []question, seed uint64) (answers []wireAnswer, err error) {
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
	command := exec.CommandContext(ctx, p.interpreter, "-I", script, "answer", p.model, asked, answered,
		strconv.FormatUint(seed, 10), strconv.FormatFloat(roundedBy, 'g', -1, 64))
	command.Env = environment(dir)
	command.WaitDelay = time.Second
	command.SysProcAttr = diesWithParent()
	runtime.LockOSThread() // for the kernel, the thread that starts a process is its parent
	defer runtime.UnlockOSThread()
	command.Stdout, command.Stderr = os.Stderr, os.Stderr // the log of the check
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.interpreter, cmp.Or(context.Cause(ctx), err))
	}
	text, err = os.ReadFile(answered)
	if err == nil {
		err = json.Unmarshal(text, &answers)
	}
	return answers, err
}

// environment returns the part of the environment that TensorFlow gets, because the model that it
// executes may read it.
func environment(home string) []string {
	env := []string{"HOME=" + home, "TMPDIR=" + home, "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=2"}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// errorName removes from the name of TensorFlow's error all characters that names don't have: the
// process that sent it has executed a foreign model.
func errorName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, text)
	return name[:min(len(name), 60)]
}
