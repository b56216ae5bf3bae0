// Package profiles holds what a healthy machine looks like and what was agreed to be proven, as data.
//
// A [Profile] states the limits of one model of machine; a [Spec] says which checks an acceptance
// requires, records or leaves out. Both are YAML files: those that ship are embedded, a [Library]
// adds the reader's own. A profile may extend others; the last one named wins and its own keys win
// over all. What comes out is a resolved profile, whose bytes hold every limit, advice ladder and
// catalogue entry, so that judging stays a pure function of evidence, profile and spec.
//
// A limit without provenance and source does not load. A limit that is absent is no limit: the
// check records what it measured. Do not put a number that decides a verdict anywhere else.
package profiles
