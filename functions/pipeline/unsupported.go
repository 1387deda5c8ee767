package pipeline

// refuseUnsupported refuses what a pipeline may say and Stoker can't do yet, so that nothing a user asks for is passed
// over in silence. Whoever builds one of these deletes its line.
func (r *report) refuseUnsupported(p Pipeline) {
	if p.Tuner != nil {
		r.refuse("tuner.when", p.Tuner.When != TuneNever, ": only never")
		r.refuse("tuner.tune_args", p.Tuner.TuneArgs != TuneArgs{}, "")
	}
}

func (r *report) refuse(key string, asked bool, detail string) {
	if asked {
		r.add(key, "not supported yet%s", detail)
	}
}
