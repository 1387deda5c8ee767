package oracle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/tuner/oracle/oraclepb"
)

// FailureKey is the metadata of EndTrial in which a process that knows Stoker says why a trial failed: a trial's message is not on
// KerasTuner's wire.
const FailureKey = "stoker-failure-bin"

// maxFailure bounds what is kept of such a message: its end, where a traceback says most.
const maxFailure = 4 << 10

// CreateTrial gives a tuner its trial. Whoever asks begins it anew: what an earlier try at it reported is forgotten.
func (s *Server) CreateTrial(ctx context.Context, r *oraclepb.CreateTrialRequest) (*oraclepb.CreateTrialResponse, error) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	id, verdict, err := s.desk.Next(bounded, r.GetTunerId())
	if err != nil {
		return nil, s.failed("next trial", err)
	}
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	if verdict != tune.Try {
		idle := map[tune.Verdict]oraclepb.TrialStatus{tune.Wait: oraclepb.TrialStatus_IDLE, tune.Over: oraclepb.TrialStatus_STOPPED}
		return &oraclepb.CreateTrialResponse{Trial: &oraclepb.Trial{
			Status: idle[verdict], Hyperparameters: hyperparameters(study.Config.Space, nil),
		}}, nil
	}
	trial := study.Trial(id)
	if trial == nil {
		return nil, s.failed("next trial", fmt.Errorf("trial %s is not in the log", id))
	}
	if err := s.lay(ctx, study, trial.Parent); err != nil {
		return nil, s.failed(fmt.Sprintf("lay out trial %s, which trial %s goes on from", trial.Parent, id), err)
	}
	if err := s.begin(id); err != nil {
		return nil, s.failed("begin trial "+id, err)
	}
	return &oraclepb.CreateTrialResponse{Trial: s.trial(study, trial)}, nil
}

// begin forgets an earlier try.
func (s *Server) begin(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports[id] = newReport()
	if err := os.Remove(filepath.Join(s.stops, id)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// lay has the folder of a trial there that another goes on from.
func (s *Server) lay(ctx context.Context, study tune.Study, parent string) error {
	folder := s.folder(parent)
	if parent == "" || folder == "" {
		return nil
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		return err
	}
	return s.desk.Lay(ctx, study.Trial(parent), folder)
}

// UpdateTrial takes what a try has found.
func (s *Server) UpdateTrial(ctx context.Context, r *oraclepb.UpdateTrialRequest) (*oraclepb.UpdateTrialResponse, error) {
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range study.Config.Objectives {
		if _, there := r.GetMetrics()[o.Name]; !there {
			return nil, status.Errorf(codes.InvalidArgument, "trial %s: expected metrics with the objective %s, got %d others",
				r.GetTrialId(), o.Name, len(r.GetMetrics()))
		}
	}
	err = s.report(r.GetTrialId(), func(report *report) { report.add(int(r.GetStep()), r.GetMetrics()) })
	if err != nil {
		return nil, err
	}
	return &oraclepb.UpdateTrialResponse{Trial: s.trial(study, study.Trial(r.GetTrialId()))}, nil
}

// Heard takes what a process tells of its trial at the end of an epoch, and has the trial end early if the study says so. Of one that
// doesn't run here nothing is heard.
func (s *Server) Heard(ctx context.Context, trial string, epoch int, metrics map[string]float64) error {
	var curves map[string][]tune.Point
	if err := s.report(trial, func(r *report) {
		r.hear(epoch, metrics)
		curves = r.copied()
	}); err != nil {
		return nil
	}
	stop, err := s.desk.Stop(ctx, trial, curves)
	if err != nil {
		return fmt.Errorf("trial %s at epoch %d: %w", trial, epoch, err)
	}
	if !stop {
		return nil
	}
	_ = s.report(trial, func(r *report) { r.halted = epoch })
	return s.Stop(trial)
}

// EndTrial takes how a try ended, and the parameters that it found on the way.
func (s *Server) EndTrial(ctx context.Context, r *oraclepb.EndTrialRequest) (*oraclepb.EndTrialResponse, error) {
	id := r.GetTrial().GetTrialId()
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.found(ctx, study, r.GetTrial().GetHyperparameters()); err != nil {
		return nil, err
	}
	var ended tune.Ended
	if err := s.report(id, func(report *report) { ended = outcome(ctx, report, r.GetTrial(), study) }); err != nil {
		return nil, err
	}
	if ended.Files, err = s.keep(ctx, study, ended); err != nil {
		return nil, s.failed("keep trial "+id, err)
	}
	if err := s.desk.End(ctx, ended); err != nil {
		return nil, s.failed("end trial "+id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reports, id)
	return &oraclepb.EndTrialResponse{}, nil
}

// outcome is a try's end in the log's words. KerasTuner's FAILED is that of values which can't be tried, an oversized model's say;
// INVALID is that of a try that failed.
func outcome(ctx context.Context, report *report, trial *oraclepb.Trial, study tune.Study) tune.Ended {
	switch trial.GetStatus() {
	case oraclepb.TrialStatus_COMPLETED:
		return report.ended(trial.GetTrialId(), study.Config.Objectives)
	case oraclepb.TrialStatus_FAILED:
		return tune.Ended{Trial: trial.GetTrialId(), Status: tune.Infeasible, Message: failure(ctx)}
	default:
		return tune.Ended{Trial: trial.GetTrialId(), Status: tune.Failed, Message: failure(ctx)}
	}
}

// failure is what the process says of it, if it is one that does.
func failure(ctx context.Context) string {
	told, _ := metadata.FromIncomingContext(ctx)
	text := strings.Join(told.Get(FailureKey), "\n")
	if text == "" {
		return "the trial failed: its process's log says why"
	}
	return strings.ToValidUTF8(text[max(0, len(text)-maxFailure):], "")
}

// keep stores what a trial leaves that another may go on from.
func (s *Server) keep(ctx context.Context, study tune.Study, ended tune.Ended) (string, error) {
	algorithm, folder := study.Config.Algorithm, s.folder(ended.Trial)
	trial := study.Trial(ended.Trial)
	if folder == "" || trial == nil || ended.Status != tune.Completed || trial.Epochs == 0 || trial.Epochs >= algorithm.MaxEpochs {
		return "", nil
	}
	if entries, err := os.ReadDir(folder); os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return "", nil
	}
	return s.desk.Keep(ctx, ended.Trial, folder)
}

// report changes what is known of a trial that runs here.
func (s *Server) report(trial string, change func(*report)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	report := s.reports[trial]
	if report == nil {
		return status.Errorf(codes.NotFound, "trial %s: does not run here", trial)
	}
	change(report)
	return nil
}
