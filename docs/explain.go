// Package docs carries the pages that explain reasons and rules, so that programs can say what the pages say.
package docs

import (
	_ "embed"
	"strings"
)

//go:embed rules.md
var rules string

//go:embed reasons.md
var reasons string

// Rule explains the names in a rule, several separated by commas, as rules.md does; names that it does not explain are left out.
func Rule(rule string) []string {
	var out []string
	for name := range strings.SplitSeq(rule, ", ") {
		if cells := row(rules, name); cells != nil {
			out = append(out, name+": "+strings.Join(cells, ": "))
		}
	}
	return out
}

// Reason explains a reason as reasons.md does: what was seen and meant, and what to do about it (empty where there is no advice).
func Reason(reason string) (meaning, advice string) {
	switch cells := row(reasons, reason); len(cells) {
	case 0:
		return "", ""
	case 1:
		return cells[0], ""
	default:
		return cells[len(cells)-2], cells[len(cells)-1]
	}
}

// row finds the cells of a table's row behind the one that names something; nil if no row does.
func row(page, name string) []string {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) < 2 || !names(cells[0], name) {
			continue
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
		}
		return cells[1:]
	}
	return nil
}

// names: a cell names one thing, or several separated by commas.
func names(cell, name string) bool {
	for one := range strings.SplitSeq(cell, ",") {
		if strings.TrimSpace(one) == "`"+name+"`" {
			return true
		}
	}
	return false
}
