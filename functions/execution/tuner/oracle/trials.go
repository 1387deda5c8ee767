package oracle

import (
	"context"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
)

// maxFailure limits how much of such a message is kept: its end, where a traceback is most
// informative.
const maxFailure = 4 << 10

// CreateTrial gives a tuner its trial. A tuner that asks begins the trial anew: reports of an
// earlier try at it are dropped.
func (s *Server) CreateTrial(ctx context.Context, r *oraclepb.CreateTrialRequest) (*oraclepb.CreateTrialResponse, error) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	id, verdict, err := s.backend.Next(bounded, r.GetTunerId())
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
		return nil, s.failed(fmt.Sprintf("create the folder of trial %s, from which trial %s resumes", trial.Parent, id), err)
	}
	s.mu.Lock()
	s.reports[id] = newReport()
	s.mu.Unlock()
	return &oraclepb.CreateTrialResponse{Trial: s.trial(study, trial)}, nil
}

// lay lays out the directory of a trial that another one continues: as this tuner left it, or as it
// was stored. Other files in its place belong to a try that failed.
func (s *Server) lay(ctx context.Context, study tune.Study, id string) error {
	parent, folder := study.Trial(id), s.trialFolder(ctx, id)
	if parent == nil || parent.Files == "" || folder == "" {
		return nil
	}
	s.mu.Lock()
	here := s.left[folder]
	s.mu.Unlock()
	if here {
		return nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := s.backend.Lay(ctx, parent, folder); err != nil {
		return err
	}
	s.leaves(folder)
	return nil
}

// leaves records that a directory is as a trial left it.
func (s *Server) leaves(folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left[folder] = true
}

// UpdateTrial records the values of a try: at the end of an epoch if the process names one, else
// those of the whole try.
func (s *Server) UpdateTrial(ctx context.Context, r *oraclepb.UpdateTrialRequest) (*oraclepb.UpdateTrialResponse, error) {
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	id, stop := r.GetTrialId(), false
	if epoch, there := epochOf(ctx); there {
		stop, err = s.heard(ctx, id, epoch, r.GetMetrics())
	} else {
		err = s.found(ctx, study, r)
	}
	if err != nil {
		return nil, err
	}
	trial := study.Trial(id)
	if trial == nil { // the bus has lost the trial's start, so it was not started
		trial, stop = &tune.Trial{ID: id, Status: tune.Running}, true
	}
	answer := s.trial(study, trial)
	if stop {
		answer.Status = oraclepb.TrialStatus_STOPPED
	}
	return &oraclepb.UpdateTrialResponse{Trial: answer}, nil
}

// found records the values that a tuner reports for a try, by which the trial is judged.
func (s *Server) found(ctx context.Context, study tune.Study, r *oraclepb.UpdateTrialRequest) error {
	for _, o := range study.Config.Objectives {
		if _, there := r.GetMetrics()[o.Name]; !there {
			return status.Errorf(codes.InvalidArgument, "trial %s: expected metrics with the objective %s, got %d others",
				r.GetTrialId(), o.Name, len(r.GetMetrics()))
		}
	}
	return s.report(r.GetTrialId(), func(report *report) { report.add(int(r.GetStep()), r.GetMetrics()) })
}

// heard records the values of an epoch, and reports whether the trial is to end with it.
func (s *Server) heard(ctx context.Context, trial string, epoch int, metrics map[string]float64) (stop bool, err error) {
	var curves map[string][]tune.Point
	if err := s.report(trial, func(r *report) {
		r.hear(epoch, metrics)
		curves, stop = r.copied(), r.halted > 0 // it was reported by an earlier execution
	}); err != nil || stop {
		return stop, err
	}
	if stop, err = s.backend.Stop(ctx, trial, curves); err != nil {
		return false, s.failed(fmt.Sprintf("trial %s at epoch %d", trial, epoch), err)
	}
	if stop {
		err = s.report(trial, func(r *report) { r.halted = epoch })
	}
	return stop, err
}

// EndTrial records how a try ended, and the parameters that it found on the way.
func (s *Server) EndTrial(ctx context.Context, r *oraclepb.EndTrialRequest) (*oraclepb.EndTrialResponse, error) {
	id := r.GetTrial().GetTrialId()
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.extend(ctx, study, r.GetTrial().GetHyperparameters()); err != nil {
		return nil, err
	}
	var ended tune.Ended
	if err := s.report(id, func(report *report) { ended = outcome(ctx, report, r.GetTrial(), study) }); err != nil {
		return nil, err
	}
	if ended.Files, err = s.keep(ctx, study, ended); err != nil {
		return nil, s.failed("keep trial "+id, err)
	}
	if err := s.backend.End(ctx, ended); err != nil {
		return nil, s.failed("end trial "+id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reports, id)
	return &oraclepb.EndTrialResponse{}, nil
}

// outcome returns a try's end as the log has it. KerasTuner's FAILED means values that can't be
// tried, such as an oversized model; INVALID means that a try failed.
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

// failure returns the reason that the process sends, if it sends one.
func failure(ctx context.Context) string {
	text := said(ctx, FailureKey)
	if text == "" {
		return "the trial failed: see the log of its process"
	}
	return strings.ToValidUTF8(text[max(0, len(text)-maxFailure):], "")
}

// keep stores the state of a trial from which another may continue.
func (s *Server) keep(ctx context.Context, study tune.Study, ended tune.Ended) (string, error) {
	algorithm, folder := study.Config.Algorithm, s.trialFolder(ctx, ended.Trial)
	trial := study.Trial(ended.Trial)
	if folder == "" || trial == nil || ended.Status != tune.Completed || trial.Epochs == 0 || trial.Epochs >= algorithm.MaxEpochs {
		return "", nil
	}
	if entries, err := os.ReadDir(folder); os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return "", nil
	}
	files, err := s.backend.Keep(ctx, ended.Trial, folder)
	if err == nil {
		s.leaves(folder)
	}
	return files, err
}

// report changes the report of a trial that runs here.
func (s *Server) report(trial string, change func(*report)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	report := s.reports[trial]
	if report == nil {
		return status.Errorf(codes.NotFound, "trial %s: it does not run in this job", trial)
	}
	change(report)
	return nil
}

// GetSpace returns the study's space, with its defaults.
func (s *Server) GetSpace(ctx context.Context, _ *oraclepb.GetSpaceRequest) (*oraclepb.GetSpaceResponse, error) {
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	space := study.Config.Space
	return &oraclepb.GetSpaceResponse{Hyperparameters: hyperparameters(space, space.Defaults())}, nil
}

// UpdateSpace adds parameters that the study's space lacks. Known ones stay as they are.
func (s *Server) UpdateSpace(ctx context.Context, r *oraclepb.UpdateSpaceRequest) (*oraclepb.UpdateSpaceResponse, error) {
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.extend(ctx, study, r.GetHyperparameters()); err != nil {
		return nil, err
	}
	return &oraclepb.UpdateSpaceResponse{}, nil
}

// extend adds the new parameters of a space.
func (s *Server) extend(ctx context.Context, study tune.Study, h *oraclepb.HyperParameters) error {
	read, err := readSpace(h.GetSpace())
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "space: %v", err)
	}
	known := study.Config.Space
	joined := known.Join(read)
	if len(joined) == len(known) {
		return nil
	}
	if err := joined.Check(); err != nil {
		return status.Errorf(codes.InvalidArgument, "space: %v", err)
	}
	if err := s.backend.Found(ctx, joined[len(known):]); err != nil {
		return s.failed("add parameters to the study", err)
	}
	return nil
}

// GetTrial returns a trial as it is known now.
func (s *Server) GetTrial(ctx context.Context, r *oraclepb.GetTrialRequest) (*oraclepb.GetTrialResponse, error) {
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	trial := study.Trial(r.GetTrialId())
	if trial == nil {
		return nil, status.Errorf(codes.NotFound, "trial %s: the study has no such trial", r.GetTrialId())
	}
	return &oraclepb.GetTrialResponse{Trial: s.trial(study, trial)}, nil
}

// GetBestTrials returns the best trials. If there are fewer than requested, others follow them, as
// in KerasTuner.
func (s *Server) GetBestTrials(ctx context.Context, r *oraclepb.GetBestTrialsRequest) (*oraclepb.GetBestTrialsResponse, error) {
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	best := study.Best()
	if int64(len(best)) < r.GetNumTrials() {
		for _, trial := range study.Trials {
			if trial.Status != tune.Completed {
				best = append(best, trial)
			}
		}
	}
	answer := &oraclepb.GetBestTrialsResponse{}
	for _, trial := range best[:min(int64(len(best)), max(0, r.GetNumTrials()))] {
		answer.Trials = append(answer.Trials, s.trial(study, trial))
	}
	return answer, nil
}
