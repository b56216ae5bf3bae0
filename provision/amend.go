package provision

// Amend gives the events that submitting a batch again makes in its run: what the
// edited file changes, and that the run goes on. EditError where a person must agree
// first.
func Amend(run *Run, sub Submission) (out []Event, err error) {
	edit := Compare(run, sub.Batch)
	if len(edit.Identity) > 0 && !sub.Batch.Confirmed {
		return nil, &EditError{Run: run.ID, Edit: edit}
	}
	if len(edit.Added)+len(edit.Judged) > 0 || edit.Unknown || (!edit.Empty() || replanned(run, sub.Batch)) && !run.Finished() {
		ev, err := NewEvent(run.ID, "", Edited, sub)
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	for _, name := range edit.Judged {
		m, _ := sub.Batch.Find(name)
		ev, err := NewEvent(run.ID, name, JudgedAgain, Rejudgement{
			Profile: m.Profile, ProfileSHA256: m.ProfileSHA256, Spec: m.Spec, SpecSHA256: m.SpecSHA256,
		})
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	if !run.Finished() || len(edit.Added) > 0 {
		ev, err := NewEvent(run.ID, "", Resumed, Resume{Until: sub.Until})
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	return out, nil
}
