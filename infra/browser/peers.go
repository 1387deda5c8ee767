package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// filled is what peers/fill.py says of the databases that it has filled.
type filled struct {
	Versions   map[string]string
	Experiment string            // MLflow's identifier
	Runs       map[string]string // MLflow's identifiers by the names of runs
}

// shown names runs. Of those that are compared the first is shown alone.
type shown struct {
	Newest   string   `json:"newest"`
	Compared []string `json:"compared"`
}

// Peers are the servers of other tools, with the data of a folder.
type Peers struct {
	Pages []Spec
	stops []func()
}

// peer is a tool, as it is started and read.
type peer struct {
	name string
	// The command, without the interpreter: a program of the virtual environment and its arguments.
	command []string
	pages   func(url string) []Spec
}

// startPeers starts each peer's server with the programs of a virtual environment, and waits until
// it answers. The folder has the databases that peers/fill.py filled, and the event files of
// TensorBoard in tensorboard; the servers write their logs there. Stop ends the servers, also after
// an error.
func startPeers(ctx context.Context, venv, folder string, show shown) (p *Peers, err error) {
	p = &Peers{}
	text, err := os.ReadFile(filepath.Join(folder, "filled.json"))
	if err != nil {
		return p, err
	}
	var data filled
	if err := json.Unmarshal(text, &data); err != nil {
		return p, fmt.Errorf("filled.json: %w", err)
	}
	for _, one := range peersOf(data, show) {
		address, stop, err := start(ctx, venv, folder, one)
		if stop != nil {
			p.stops = append(p.stops, stop)
		}
		if err != nil {
			return p, fmt.Errorf("start %s: %w", one.name, err)
		}
		p.Pages = append(p.Pages, one.pages(address)...)
	}
	return p, nil
}

// Stop ends the servers and waits until they are gone.
func (p *Peers) Stop() {
	for _, stop := range p.stops {
		stop()
	}
}

// port stands for the port in a command.
const port = "PORT"

func peersOf(data filled, show shown) []peer {
	return []peer{mlflow(data, show), optunaDashboard(data), tensorboard(data)}
}

// mlflow has two workers, as a small machine has cores, and kills none that takes long to start; by
// default it would have four, and restart those that don't answer within five seconds.
func mlflow(data filled, show shown) peer {
	name := "MLflow " + data.Versions["mlflow"]
	command := []string{
		"mlflow", "server", "--host", "127.0.0.1", "--port", port, "--backend-store-uri", "sqlite:///mlflow.db", "--artifacts-destination", "artifacts",
		"--workers", "2", "--uvicorn-opts", "--timeout-worker-healthcheck 300",
	}
	var runs []string
	for _, name := range show.Compared {
		runs = append(runs, data.Runs[name])
	}
	return peer{name, command, func(url string) []Spec {
		experiment := url + "/#/experiments/" + data.Experiment
		return []Spec{
			{name, ListOfRuns, experiment + "/runs", says(show.Newest)},
			{name, Run, experiment + "/runs/" + runs[0], says("learning_rate")},
			{name, Curves, experiment + "/runs/" + runs[0] + "/model-metrics", more(".js-plotly-plot .scatterlayer path.js-line", 1)},
			{name, Compare, url + "/#/compare-runs?" + query("runs", runs...) + "&" + query("experiments", data.Experiment), says("learning_rate") + " && " + more(".js-plotly-plot .main-svg", 0)},
		}
	}}
}

func optunaDashboard(data filled) peer {
	name := "optuna-dashboard " + data.Versions["optuna-dashboard"]
	return peer{name, []string{"optuna-dashboard", "--host", "127.0.0.1", "--port", port, "sqlite:///optuna.db"}, func(url string) []Spec {
		return []Spec{
			{name, Study, url + "/dashboard/studies/1", more(".js-plotly-plot .scatterlayer .point", 20) + " && " + more(".js-plotly-plot .bartext", 0)},
			// The table is on the page that selects trials.
			{name, Trials, url + "/dashboard/studies/1/smartSelection", more("tbody tr", 9)},
		}
	}}
}

// tensorboard has one page for the curves of all runs.
func tensorboard(data filled) peer {
	name := "TensorBoard " + data.Versions["tensorboard"]
	return peer{name, []string{"tensorboard", "--host", "127.0.0.1", "--port", port, "--logdir", "tensorboard"}, func(url string) []Spec {
		return []Spec{{name, Compare, url + "/#timeseries", more("scalar-card line-chart :is(canvas, svg)", 1) + ` && !document.querySelector('scalar-card mat-spinner')`}}
	}}
}

// Names of pages.
const (
	ListOfRuns = "list of runs"
	Run        = "run"
	Curves     = "curves of a run"
	Compare    = "runs compared"
	Study      = "study"
	Trials     = "table of trials"
)

// says is true once a page has a text, which is not in a script.
func says(text string) string {
	path := fmt.Sprintf(`//body//*[not(self::script or self::style or self::noscript)]/text()[contains(., '%s')]`, text)
	return fmt.Sprintf(`document.evaluate(%q, document, null, XPathResult.BOOLEAN_TYPE, null).booleanValue`, path)
}

// more is true once a page has more than so many elements.
func more(selector string, than int) string {
	return fmt.Sprintf(`document.querySelectorAll(%q).length > %d`, selector, than)
}

// query returns a list as MLflow's addresses have it.
func query(name string, list ...string) string {
	text, _ := json.Marshal(list) // of strings: can't fail
	return name + "=" + url.QueryEscape(string(text))
}

const (
	startsWithin = 8 * time.Minute // Python imports for long on a busy machine
	stopsWithin  = 10 * time.Second
)

// start starts a server in a process group of its own, on a free port, and waits until it answers.
// stop ends the group, and is not nil once the server was started.
func start(ctx context.Context, venv, folder string, one peer) (address string, stop func(), err error) {
	free, err := freePort()
	if err != nil {
		return "", nil, err
	}
	logFile := filepath.Join(folder, one.command[0]+".log")
	log, err := os.Create(logFile)
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	program, err := filepath.Abs(filepath.Join(venv, "bin", one.command[0]))
	if err != nil {
		return "", nil, err
	}
	args := append([]string(nil), one.command[1:]...)
	for i := range args {
		if args[i] == port {
			args[i] = strconv.Itoa(free)
		}
	}
	home, err := filepath.Abs(folder) // what a server keeps in its user's directory
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, log, log
	cmd.Env = append(os.Environ(), "MLFLOW_DISABLE_TELEMETRY=true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false", "DO_NOT_TRACK=true", "HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait(); close(ended) }()
	stop = func() { end(cmd.Process.Pid, ended) }
	address = fmt.Sprintf("http://127.0.0.1:%d", free)
	if err := answers(ctx, address, ended); err != nil {
		return "", stop, fmt.Errorf("%w; the end of %s: %s", err, logFile, tail(logFile))
	}
	return address, stop, nil
}

// end asks a process group to end, and kills it if it doesn't.
func end(group int, ended <-chan error) {
	// An error says that the group is gone.
	_ = syscall.Kill(-group, syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(stopsWithin):
	}
	for deadline := time.Now().Add(stopsWithin); syscall.Kill(-group, 0) == nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	<-ended
}

// answers waits until a server answers with a page, or has ended.
func answers(ctx context.Context, address string, ended <-chan error) error {
	ctx, stop := context.WithTimeout(ctx, startsWithin)
	defer stop()
	var last error
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			err = response.Body.Close()
			if response.StatusCode < 400 {
				return err
			}
			err = errors.New(response.Status)
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it ended by itself: %v", err)
		case <-ctx.Done():
			return fmt.Errorf("it doesn't answer: %w (%w)", last, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// tail returns the last lines of a log.
func tail(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}
