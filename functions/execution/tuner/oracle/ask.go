package oracle

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
)

// GetSpace tells the study's space, with its defaults.
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

// extend adds what is new of a space.
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

// GetTrial tells what is known of a trial.
func (s *Server) GetTrial(ctx context.Context, r *oraclepb.GetTrialRequest) (*oraclepb.GetTrialResponse, error) {
	study, err := s.study(ctx)
	if err != nil {
		return nil, err
	}
	trial := study.Trial(r.GetTrialId())
	if trial == nil {
		return nil, status.Errorf(codes.NotFound, "trial %s: the study has none", r.GetTrialId())
	}
	return &oraclepb.GetTrialResponse{Trial: s.trial(study, trial)}, nil
}

// GetBestTrials tells the best trials, and if there are fewer than asked for, others behind them, as KerasTuner does.
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
