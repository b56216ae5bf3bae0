package profiles

import (
	"fmt"
	"strings"
)

// Nearest gives the member of known that word was most likely meant to be: one at most one slip away for each three
// letters (two swapped neighbours are one slip, letter case is none), else the only one that begins with word. It
// gives "" when there is none.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, least := "", len(word)/3+1
	for _, candidate := range known {
		d := distance(word, strings.ToLower(candidate))
		if d < least || d == least && best == "" {
			best, least = candidate, d
		}
	}
	if best != "" || len(word) < 2 {
		return best
	}
	for _, candidate := range known {
		if !strings.HasPrefix(strings.ToLower(candidate), word) {
			continue
		}
		if best != "" {
			return ""
		}
		best = candidate
	}
	return best
}

// suggest is the end of an error message: `, did you mean "width"?`, or nothing.
func suggest(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

// distance is the optimal string alignment distance of a and b, in bytes.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
