package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (e *Examples) print(p *printer) {
	p.section("splits")
	p.row("NAME", "RECORDS", "FILES", "SIZE", "COMPRESSION", "PAYLOAD")
	for _, s := range e.Splits {
		records := integer(s.Records)
		if !s.Complete {
			records += " or more"
		}
		p.row(s.name(), records, integer(int64(s.Files)), size(s.Bytes), s.Compression, s.Payload)
	}
	for _, s := range e.Splits {
		if !s.Complete {
			p.section("%s: counted in the first %s of %s, then --limit was reached (--limit 0 reads all)",
				plain(s.name()), size(s.Read), size(s.Bytes))
		}
	}
	for _, s := range e.Splits {
		if s.Malformed > 0 {
			p.section("%s: %s that can't be read: neither a tf.Example nor a tf.SequenceExample; the first is %s",
				plain(s.name()), plural(int(s.Malformed), "record"), plain(s.FirstBad))
		}
		if s.Damaged > 0 {
			p.section("%s: damaged: %s; the rest of the file is not counted", plain(s.name()), plain(s.damageText()))
		}
		for _, f := range s.Features {
			if f.Other != "" {
				p.section("%s: feature %s is %s, and %s in %s: training rejects one of them", plain(s.name()), plain(f.Name), f.Type, f.Other, plain(f.OtherAt))
			}
		}
	}
	for _, m := range e.Mixed {
		var types []string
		for _, split := range slices.Sorted(maps.Keys(m.Types)) {
			types = append(types, fmt.Sprintf("%s in %s", m.Types[split], plain(split)))
		}
		p.section("feature %s is %s: training rejects one of them", plain(m.Name), strings.Join(types, ", and "))
	}
	for _, s := range e.Splits {
		s.print(p)
	}
}

func (s Split) name() string {
	if s.Name == "" {
		return "(no split)"
	}
	return s.Name
}

// print prints a line for each feature, and a column for each row.
func (s Split) print(p *printer) {
	if len(s.Features) == 0 {
		return
	}
	p.section("features of %s, in its first %s", plain(s.name()), plural(s.Features[0].Of, "record"))
	head := []string{"NAME", "TYPE", "IN", "VALUES"}
	for i := range s.Rows {
		head = append(head, fmt.Sprintf("ROW %d", i))
	}
	p.row(head...)
	for _, f := range s.Features {
		line := []string{f.Name, f.typeText(), fmt.Sprintf("%d of %d", f.Present, f.Of), f.countText()}
		for _, r := range s.Rows {
			line = append(line, r[f.Name].text())
		}
		p.row(line...)
	}
}

func (f Feature) typeText() string {
	text := f.Type
	if text == "" {
		text = "(no value)"
	}
	if f.Sequence {
		text += ", sequence"
	}
	return text
}

func (f Feature) countText() string {
	if f.Min == f.Max {
		return integer(int64(f.Min))
	}
	return fmt.Sprintf("%d..%d", f.Min, f.Max)
}

func (v Values) text() string {
	text := list(v.List)
	switch {
	case v.Sequence:
		var steps []string
		for _, step := range v.Steps {
			steps = append(steps, list(step))
		}
		text = "[" + strings.Join(steps, "; ") + "]"
	case v.List == nil:
		text = "(absent)"
	}
	return clip(text, maxCell)
}

func (s *Schema) print(p *printer) {
	if len(s.Environments) > 0 {
		p.row("environments", strings.Join(s.Environments, ", "))
	}
	if s.Unread != "" {
		p.row("not readable", s.Unread)
	}
	p.section("%s", plural(len(s.Features), "feature"))
	p.row("NAME", "TYPE", "PRESENCE", "SHAPE", "DOMAIN", "NOTE")
	for _, f := range s.Features {
		p.row(f.Name, f.Type, f.Presence, f.Shape, f.Domain, f.Note)
	}
}

func printStatistics(p *printer, all []Statistics) {
	for _, s := range all {
		title := "statistics"
		if s.Split != "" {
			title = "split " + s.Split
		}
		p.section("%s: %d records", plain(title), s.Records)
		p.row("FEATURE", "TYPE", "MISSING", "UNIQUE", "MEAN", "STD DEV", "MIN", "MAX", "MOST FREQUENT")
		for _, f := range s.Features {
			unique := ""
			if f.Unique > 0 {
				unique = integer(f.Unique)
			}
			p.row(f.Name, f.Type, integer(f.Missing), unique,
				short(f.Mean), short(f.StdDev), short(f.Min), short(f.Max), clip(f.Top, maxCell))
		}
	}
}

// short formats a number with six digits.
func short(x any) string {
	if x, ok := x.(float64); ok {
		return fmt.Sprintf("%.6g", x)
	}
	return value(x)
}

func (h *Hyperparameters) print(p *printer) {
	p.section("best values")
	p.row("NAME", "VALUE", "CLASS", "SPACE")
	classes := map[string]Dimension{}
	for _, d := range h.Space {
		classes[d.Name] = d
	}
	for _, name := range slices.Sorted(maps.Keys(h.Values)) {
		p.row(name, value(h.Values[name]), classes[name].Class, classes[name].text())
	}
}

// text describes the choices of a hyperparameter.
func (d Dimension) text() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(d.Config)) {
		v := d.Config[key]
		if empty, ok := v.([]any); key == "name" || v == nil || ok && len(empty) == 0 {
			continue
		}
		parts = append(parts, key+"="+value(v))
	}
	return strings.Join(parts, " ")
}

func (r *TunerResults) print(p *printer) {
	p.section("%s, the best first", plural(len(r.Trials), "trial"))
	names := map[string]bool{}
	for _, t := range r.Trials {
		for name := range t {
			names[name] = true
		}
	}
	delete(names, "trial_id")
	delete(names, "score")
	columns := slices.Sorted(maps.Keys(names))
	p.row(slices.Concat([]string{"TRIAL", "SCORE"}, columns)...)
	for _, t := range r.Trials {
		line := []string{value(t["trial_id"]), value(t["score"])}
		for _, name := range columns {
			line = append(line, value(t[name]))
		}
		p.row(line...)
	}
}

func (e *Events) print(p *printer) {
	if !e.Complete {
		p.section("these are the first %s of events, then --limit was reached (--limit 0 reads all)", size(e.Read))
	}
	for _, r := range e.Runs {
		p.section("run %s: %s", plain(r.Name), plural(r.Files, "file"))
		if r.Cut {
			p.row("the last file ends within an event: it is still being written, or its writer died")
		}
		if len(r.Tags) > 0 {
			p.row("TAG", "KIND", "POINTS", "STEPS", "LAST")
		}
		for _, t := range r.Tags {
			p.row(t.Tag, t.Kind, integer(int64(t.Points)), fmt.Sprintf("%d..%d", t.First, t.Last), clip(value(t.Value), 2*maxCell))
		}
		if r.Hyperparameters == nil {
			continue
		}
		p.section("hyperparameters of run %s: session of status %s", plain(r.Name), r.Status)
		for _, name := range slices.Sorted(maps.Keys(r.Hyperparameters)) {
			p.row(name, clip(value(r.Hyperparameters[name]), 2*maxCell))
		}
	}
}

func printFolder(p *printer, parts []Part) {
	p.section("artifacts")
	p.row("PATH", "KIND", "FILES", "SIZE")
	for _, part := range parts {
		p.row(part.Path, part.Kind.words(), integer(int64(part.Files)), size(part.Bytes))
	}
}
