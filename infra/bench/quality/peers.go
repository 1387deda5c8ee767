package quality

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed requirements.txt
var requirements []byte

//go:embed tables.py
var tablesScript []byte

// Peers is an environment of Python with the packages of requirements.txt: peers and tables.
type Peers struct {
	Python string // the interpreter
	Tables string // directory of files of tables.py
	script string // tables.py
}

// NewPeers returns the environment. It is created once, below cache, with a Python 3.10.
func NewPeers(ctx context.Context, cache, python310 string, log io.Writer) (Peers, error) {
	dir := filepath.Join(cache, "peers-"+digest(requirements))
	tables := filepath.Join(dir, "tables-"+digest(tablesScript))
	p := Peers{Python: filepath.Join(dir, "bin", "python"), Tables: tables, script: filepath.Join(tables, "tables.py")}
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err != nil {
		fmt.Fprintln(log, "creating an environment with Optuna, HEBO, SMAC3 and tables in", dir, "(once, 3 GB)")
		if err := create(ctx, dir, p.Python, python310, log); err != nil {
			return p, fmt.Errorf("create an environment with Optuna by %s, which has to be Python 3.10: %w", python310, err)
		}
		if err := os.WriteFile(complete, nil, 0o644); err != nil {
			return p, err
		}
	}
	return p, errors.Join(os.MkdirAll(tables, 0o755), os.WriteFile(p.script, tablesScript, 0o644))
}

func digest(of []byte) string {
	sum := sha256.Sum256(of)
	return fmt.Sprintf("%x", sum[:8])
}

func create(ctx context.Context, dir, interpreter, python310 string, log io.Writer) error {
	list := filepath.Join(dir, "requirements.txt")
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), os.WriteFile(list, requirements, 0o644))
	for _, command := range [][]string{
		{python310, "-m", "venv", dir},
		{interpreter, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", list},
	} {
		if err == nil {
			err = run(ctx, log, command...)
		}
	}
	return err
}

// Export writes the files of problems that have none yet.
func (p Peers) Export(ctx context.Context, list []Listed, log io.Writer) error {
	command := []string{p.Python, p.script, "export", p.Tables}
	arguments := len(command)
	for _, l := range list {
		if _, err := os.Stat(filepath.Join(p.Tables, l.Name+".jsonl")); err != nil && l.Suite != Formulas {
			command = append(command, l.Name)
		}
	}
	if len(command) == arguments {
		return nil
	}
	if err := run(ctx, log, command...); err != nil {
		return fmt.Errorf("export tables: %w", err)
	}
	return nil
}

func run(ctx context.Context, log io.Writer, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd.Run()
}
