package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
)

// writeBatchPage writes runs/<run>/reports: the page over all machines of the run,
// its JSON, and beside them the page of each machine as its attempt was judged. It
// returns the page's path, or "" where no machine has come as far as a report.
func writeBatchPage(read *judgements, run *provision.Run) (string, error) {
	dir := filepath.Join(provision.RunDir(read.state, run.ID), "reports")
	var judged []*report.Machine
	for i := range run.Machines {
		m := &run.Machines[i]
		j := read.of(m)
		if j == nil {
			continue
		}
		judged = append(judged, &report.Machine{Judgement: *j})
		if err := copyReports(read.dir(m), dir, m.Machine.Name); err != nil {
			return "", err
		}
	}
	if len(judged) == 0 {
		return "", nil
	}
	page := report.NewBatch(string(run.ID), run.Summary(provision.Selector{}), judged)
	rows := map[string]report.Row{}
	for _, r := range page.Rows {
		rows[r.Name] = r
	}
	page.Rows = nil
	for _, m := range run.Sorted(provision.Selector{}) { // also those that have no judgement
		r, ok := rows[m.Machine.Name]
		if !ok {
			r = report.Row{Name: m.Machine.Name, Rack: place(m), Serial: m.Machine.Serial, Attempt: m.Attempt, Class: "unknown", Line: m.Line()}
		} else {
			r.Class = string(m.Result) // a fault that a step found goes before the judgement of its remains
		}
		r.Result = string(m.State)
		page.Rows = append(page.Rows, r)
	}
	var html bytes.Buffer
	if err := report.BatchHTML(&html, page); err != nil {
		return "", err
	}
	index := filepath.Join(dir, "index.html")
	return index, errors.Join(
		putBy(filepath.Join(dir, "batch.json"), func(w io.Writer) error { return batchJSON(w, read, run, provision.Selector{}) }),
		put(index, html.Bytes()))
}

// copyReports puts the page and the JSON of an attempt beside the batch page, byte
// for byte as the report step wrote them.
func copyReports(attempt, dir, machine string) error {
	for from, to := range map[string]string{report.HTMLFile: machine + ".html", report.JSONFile: machine + ".json"} {
		if err := copyFile(filepath.Join(attempt, from), filepath.Join(dir, to)); err != nil {
			return err
		}
	}
	return nil
}

// copyFile gives a file a second name where the file system can: a report is replaced and
// never changed, and a thousand of them are a gigabyte.
func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return put(to, b)
}

// put writes a file whole or not at all.
func put(path string, b []byte) error {
	return putBy(path, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// putBy is put for what is too large to be held in memory.
func putBy(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp := path + ".part"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	if err := errors.Join(write(w), w.Flush(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}
