package guest

import (
	"slices"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/functions/guest/process"
	"github.com/stoker-ml/stoker/functions/module"
)

// child is a process that works on assignments.
type child struct {
	*process.Process

	served int  // assignments that it has worked on
	idled  bool // it has waited for one, and may have left meanwhile

	looked time.Time // when somebody last looked for processes that it left running
}

// start starts a command, which waits on its standard input.
func (h *Host) start(command, env []string) (*child, error) {
	p, err := h.place.Start(command, speaking(env))
	if err != nil {
		return nil, fail(KindHost, err)
	}
	return &child{Process: p}, nil
}

// speaking is env with the word for where progress is told.
func speaking(env []string) []string {
	return append(slices.Clip(env), module.ProgressEnv+"="+strconv.Itoa(process.ProgressFD))
}
