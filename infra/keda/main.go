// Command keda prints what KEDA would do with a ScaledJob on a JetStream consumer: KEDA's
// nats-jetstream scaler reads the lag, and KEDA's code for ScaledJobs computes how many Jobs to
// start. It needs no cluster, and starts no Jobs.
//
// It reads one question a line from standard input and writes one answer a line, both JSON, until
// the input ends. A scaler is kept for each trigger, as KEDA's operator keeps it, so that what it
// remembers of a cluster's leaders is remembered here.
//
// This is a Go module of its own, so that the product's module does not depend on Kubernetes and
// the clouds. build.sh builds it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	"github.com/kedacore/keda/v2/pkg/scaling/scaledjob"
)

// question is one poll of one ScaledJob.
type question struct {
	Monitor  string `json:"monitor"` // natsServerMonitoringEndpoint, host:port
	Account  string `json:"account"`
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	PerJob   int64  `json:"per_job"`  // lagThreshold
	Max      int64  `json:"max"`      // maxReplicaCount
	Running  int64  `json:"running"`  // Jobs that have not finished
	Standing int64  `json:"standing"` // workers that a Deployment keeps for the same queue
}

// answer is KEDA's result for it. Error is set instead where its scaler fails.
type answer struct {
	Lag    int64  `json:"lag"`
	Active bool   `json:"active"`
	Start  int64  `json:"start"` // new Jobs
	Error  string `json:"error,omitempty"`
}

const pollTime = 10 * time.Second

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "keda:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	known := map[question]scalers.Scaler{}
	answers := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("read question %q: %w", lines.Text(), err)
		}
		a, err := q.ask(known)
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

// ask does what KEDA's scale handler does at each polling interval.
func (q question) ask(known map[question]scalers.Scaler) (answer, error) {
	scaler, err := q.scaler(known)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), pollTime)
	defer cancel()
	specs := scaler.GetMetricSpecForScaling(ctx)
	metrics, active, err := scaler.GetMetricsAndActivity(ctx, specs[0].External.Metric.Name)
	if err != nil {
		return answer{}, err
	}
	length, most, _ := scaledjob.CalculateQueueLengthAndMaxValue(metrics, specs, q.Max)
	measured := []scaledjob.ScalerMetrics{{QueueLength: length, MaxValue: most, IsActive: active}}
	active, scaleTo, maxScale, _ := scaledjob.IsScaledJobActive(measured, "", 0, q.Max)
	return answer{Lag: int64(length), Active: active, Start: q.start(active, scaleTo, maxScale)}, nil
}

// start returns the number of Jobs that the strategy "default" calls for, or above standing workers
// "custom".
func (q question) start(active bool, scaleTo, maxScale int64) int64 {
	if !active {
		return 0
	}
	job := &kedav1alpha1.ScaledJob{Spec: kedav1alpha1.ScaledJobSpec{
		ScalingStrategy: kedav1alpha1.ScalingStrategy{Strategy: "default"},
	}}
	if standing := int32(q.Standing); standing > 0 {
		job.Spec.ScalingStrategy = kedav1alpha1.ScalingStrategy{
			Strategy: "custom", CustomScalingQueueLengthDeduction: &standing, CustomScalingRunningJobPercentage: "1",
		}
	}
	strategy := executor.NewScalingStrategy(logr.Discard(), job)
	effective, scaleTo := strategy.GetEffectiveMaxScale(maxScale, q.Running, 0, q.Max, scaleTo)
	return max(0, min(scaleTo, effective))
}

// scaler makes the scaler of a trigger, or finds it.
func (q question) scaler(known map[question]scalers.Scaler) (scalers.Scaler, error) {
	key := q
	key.Running, key.Standing = 0, 0
	if scaler, ok := known[key]; ok {
		return scaler, nil
	}
	scaler, err := scalers.NewNATSJetStreamScaler(&scalersconfig.ScalerConfig{
		ScalableObjectName: "stoker", ScalableObjectNamespace: "stoker", ScalableObjectType: "ScaledJob",
		TriggerType: "nats-jetstream", GlobalHTTPTimeout: pollTime,
		TriggerMetadata: map[string]string{
			"natsServerMonitoringEndpoint": q.Monitor, "account": q.Account, "stream": q.Stream, "consumer": q.Consumer,
			"lagThreshold": strconv.FormatInt(q.PerJob, 10),
		},
	})
	if err == nil {
		known[key] = scaler
	}
	return scaler, err
}
