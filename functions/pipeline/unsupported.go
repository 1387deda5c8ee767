package pipeline

// refuseUnsupported refuses what a pipeline may say and Stoker can't do yet, so that nothing a user asks for is passed
// over in silence. Whoever builds one of these deletes its line.
func (r *report) refuseUnsupported(p Pipeline) {
	if p.Tuner != nil {
		r.refuse("tuner.resources.workers", p.Tuner.Resources != nil && p.Tuner.Resources.Workers > 1, ": a search runs in one process")
	}
}

func (r *report) refuse(key string, asked bool, detail string) {
	if asked {
		r.add(key, "not supported yet%s", detail)
	}
}
