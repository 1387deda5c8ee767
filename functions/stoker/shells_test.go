//go:build shells

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/local"
)

// Each runs a real shell and prints its completions of a line, one per line; candidates may have a
// description.
var shells = map[string]struct{ script string }{
	"bash": {`
source /usr/share/bash-completion/bash_completion
source <(stoker completion bash)
COMP_LINE=$LINE COMP_POINT=${#LINE}
read -ra COMP_WORDS <<<"$LINE"
[[ $LINE == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_stoker
printf '%s\n' "${COMPREPLY[@]}"`},
	"fish": {`
stoker completion fish | source
complete --do-complete "$LINE"`},
	// zsh completes only in its line editor: it gets a terminal, where every candidate is printed
	// as it is added.
	"zsh": {`
zmodload zsh/zpty
zpty typed zsh -f -i
zpty -w typed "PS1=; autoload -U compinit; compinit -u -D; source <(stoker completion zsh); setopt no_list_beep
compadd() { local -a found; builtin compadd -O found \"\$@\"; print -rl -- \${found/#/FOUND } >>$FOUND; builtin compadd \"\$@\" }
whole() { zle expand-or-complete; print -r -- END >>$FOUND }; zle -N whole; bindkey '^I' whole; print READY >>$FOUND"
until grep -q READY $FOUND 2>/dev/null; do sleep 0.05; done
zpty -w -n typed "$LINE"$'\t'
until grep -q END $FOUND; do sleep 0.05; done
zpty -d typed
sed -n 's/^FOUND //p' $FOUND`},
}

// The completions that a user gets in bash, zsh and fish. PowerShell is in no registry that tests
// may use: its script is not tested in a shell.
func TestShellsCompleteWhatThereIs(t *testing.T) {
	t.Parallel()
	environ := machine(t)
	for name, shell := range shells {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%v: task test:shells installs it", err)
		}
		for line, want := range map[string]string{
			"stoker runs show ":              "monday",
			"stoker logs ":                   "monday",
			"stoker runs show --pipeline ":   "penguin",
			"stoker pause ":                  "penguin",
			"stoker runs --output ":          "yaml",
			"stoker runs --outp":             "--output",
			"stoker rep":                     "replay",
			"stoker watch --kind model.":     "model.trained",
			"stoker runs --context ":         "lab",
			"stoker studies show nothing --": "--follow",
		} {
			t.Run(name+"/"+line, func(t *testing.T) {
				t.Parallel()
				if offered := offers(t, name, shell.script, line, environ); !slices.Contains(offered, want) {
					t.Errorf("%q offers %q, and not %s", line, offered, want)
				}
			})
		}
		t.Run(name+"/nothing", func(t *testing.T) {
			t.Parallel()
			if offered := offers(t, name, shell.script, "stoker cancel monday ", environ); len(offered) != 0 {
				t.Errorf("a second run is offered: %q", offered)
			}
		})
	}
}

// offers returns the candidates without their descriptions.
func offers(t *testing.T, shell, script, line string, environ []string) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(slices.Clone(environ), "LINE="+line, "FOUND="+filepath.Join(cmd.Dir, "found"))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", shell, err, said.String())
	}
	for offered := range strings.Lines(string(out)) {
		if word, _, _ := strings.Cut(strings.TrimSpace(offered), "\t"); word != "" {
			all = append(all, strings.TrimSpace(strings.Split(word, "  ")[0]))
		}
	}
	return all
}

// machine returns the environment of a machine with stoker on its PATH, a running stack, a
// pipeline, a run and a context.
func machine(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "stoker"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	environ := []string{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, "data"), "PATH=" + bin + ":" + os.Getenv("PATH"), "TERM=xterm"}
	files := map[string]string{
		".config/nats/context/lab.json": `{"url": "nats://127.0.0.1:1"}`,
		"penguin.yaml":                  "pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [transform, examples], train_args: {num_steps: 1}, custom_config: {label: species}}\n",
		"event.json":                    `{"transform_graph": "s3://stoker/t/4"}`,
	}
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, home, environ)
	for _, args := range [][]string{
		{"apply", "penguin.yaml"},
		{"publish", "event.json", "--kind", "transform.ready", "--pipeline", "penguin", "--run", "monday"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "stoker"), args...)
		cmd.Dir, cmd.Env = home, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("stoker %v: %v: %s", args, err, out)
		}
	}
	return environ
}

// start runs `stoker up` until the test has ended.
func start(t *testing.T, home string, environ []string) {
	t.Helper()
	up := exec.CommandContext(t.Context(), filepath.Join(home, "bin", "stoker"), "up", "--slots", "0")
	up.Env = environ
	up.Cancel = func() error { return up.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	up.Stderr = &said
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(func() { stop(); _ = up.Process.Signal(os.Interrupt); _ = up.Wait() })
	for ctx.Err() == nil {
		if _, err := local.ReadConnection(filepath.Join(home, "data", "stoker")); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal(fmt.Errorf("stoker up: %w: %s", ctx.Err(), said.String()))
}
