package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// benchmarkGroup has figures of a benchmark in the package that it measures. `go test` runs it once
// a round, with iterations of its own, and each metric of its output is a sample of the series
// "<sub-benchmark> <metric>".
func benchmarkGroup(pkg, benchmark string, rounds, iterations int, figures ...spec) group {
	return group{rounds: rounds, figures: figures, setup: func(ctx context.Context, b bench, r *recorder) error {
		cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-bench=^"+benchmark+"$", fmt.Sprintf("-benchtime=%dx", iterations),
			fmt.Sprintf("-count=%d", r.rounds), "-timeout=1h", "github.com/stoker-ml/stoker/"+pkg)
		cmd.Env = append(os.Environ(), "STOKER_TENSORFLOW=live")
		cmd.Stderr = b.log
		output, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("go test %s: %w\n%s", pkg, err, output)
		}
		return addMetrics(r, bytes.NewReader(output))
	}}
}

// addMetrics reads the output of `go test -bench`: for each run of a benchmark its name, the number
// of iterations, and pairs of value and unit.
func addMetrics(r *recorder, output io.Reader) error {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimSuffix(fields[0], fmt.Sprintf("-%d", runtime.GOMAXPROCS(0)))
		_, name, _ = strings.Cut(name, "/")
		for pair := range slices.Chunk(fields[2:], 2) {
			value, err := strconv.ParseFloat(pair[0], 64)
			if err != nil || len(pair) < 2 {
				return fmt.Errorf("read metrics of go test: line %q: expected pairs of value and unit", lines.Text())
			}
			r.add(strings.TrimSpace(name+" "+pair[1]), value)
		}
	}
	return lines.Err()
}

// filesPart compares reading and writing TensorFlow's files with TensorFlow: the same files and
// rows, in CPU time.
func filesPart() part {
	against := func(name, benchmark, unit, goal string) spec {
		metric := map[string]string{cpuSecondsPerMillion: "cpu-s/Mrow", milliseconds: "cpu-ms"}[unit]
		return spec{name: name, unit: unit, goal: goal, of: benchmark + " " + metric,
			peers: []peer{{name: tensorflowName, series: strings.TrimSpace(benchmark + " tensorflow-" + metric)}}}
	}
	goals := map[string]string{"plain": "> 3", "gzip": "> 2"}
	var parse, transform []spec
	for _, data := range []string{"examples", "sequences"} {
		for _, file := range []string{"plain", "gzip"} {
			parse = append(parse, withRatio(against("parse-"+data+"-"+file, data+"-"+file, cpuSecondsPerMillion, goals[file]))...)
		}
	}
	export := against("export-taxi", "taxi", milliseconds, "< 50")
	export.peers[0].name += " tf.saved_model.save"
	for _, graph := range []string{"penguin", "taxi"} {
		transform = append(transform, withRatio(against("transform-"+graph, graph, cpuSecondsPerMillion, "> 3"))...)
	}
	return part{"files", []group{
		benchmarkGroup("compute/data/example", "BenchmarkTensorFlowParse", 9, 1, parse...),
		benchmarkGroup("compute/tf/savedmodel", "BenchmarkTensorFlowWrite", 9, 1, export),
		benchmarkGroup("compute/tf/transform", "BenchmarkTensorFlowRun", 9, 1, transform...),
	}}
}

// inputPart measures records -> batches of parsed columns, plain and gzip, compared with tf.data as
// its guide recommends and with one thread, which takes the least CPU time.
func inputPart() part {
	var figures []spec
	for _, file := range []struct{ name, goal string }{{"plain", "> 3"}, {"gzip", "> 2"}} {
		rate := func(suffix, unit, metric, goal string, modes ...string) spec {
			s := spec{name: "input-" + file.name + suffix, unit: unit, goal: goal, more: true, of: file.name + " " + metric}
			for _, mode := range modes {
				s.peers = append(s.peers, peer{name: tensorflowName + ", " + mode, series: file.name + " " + strings.ReplaceAll(mode, " ", "-") + "-" + metric})
			}
			return s
		}
		figures = slices.Concat(figures,
			withRatio(rate("", perCPUSecond, "examples/cpu-s", file.goal, "autotune", "one thread")),
			[]spec{rate("-autotune", perCPUSecond, "examples/cpu-s", "", "autotune"), rate("-wall", perSecond, "examples/s", "", "autotune")})
	}
	return part{"input", []group{benchmarkGroup("compute/data/example", "BenchmarkTensorFlowInput", 9, 1, figures...)}}
}

// tracePart measures what tracing adds to a job: the same jobs, with a bus in memory and no work in
// them, without tracing and with all the spans that a training has.
func tracePart() part {
	return part{"trace", []group{benchmarkGroup("functions/telemetry", "BenchmarkTracing", 30, 200,
		spec{name: "tracing-adds-to-a-job-p50", unit: microseconds, of: "added-us/op", goal: "< 150"},
		// Those that encode and send spans included; a test of functions/telemetry has the others.
		spec{name: "tracing-allocates-a-job-p50", unit: objects, of: "added-allocs/op", goal: "< 300"},
		spec{name: "tracing-cpu-a-job-sent-and-received-p50", unit: microseconds, of: "added-cpu-us/op"})}}
}
