package main

import (
	"strings"
	"testing"
)

// A mutant whose text has moved tests nothing. This finds it in every run of the tests, long before anybody runs the mutants.
func TestEveryMutantFindsItsGuard(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants {
		if _, err := m.mutate("../.."); err != nil {
			t.Error(err)
		}
		if m.removes == "" || len(m.tests) == 0 || names[m.name] {
			t.Errorf("mutant %q needs a name of its own, what it removes, and the tests that should notice", m.name)
		}
		for _, s := range m.tests {
			for _, name := range strings.Split(s.run, "|") {
				if !s.security() && !strings.Contains(name, layerTests) || s.security() && !strings.HasPrefix(name, securityTests) {
					t.Errorf("mutant %q names the test %q, which is part neither of the layer nor of make security, or of another one than those beside it",
						m.name, name)
				}
			}
		}
		names[m.name] = true
	}
}

func TestASurvivorAndABrokenMutantAreToldApartFromOnesThatAreCaught(t *testing.T) {
	for output, want := range map[string]string{
		"--- FAIL: TestCases (0.1s)\n    --- FAIL: TestCases/C08 (0.1s)\n--- FAIL: TestOther (0.1s)\nFAIL\n": "TestCases/C08",
		"--- FAIL: TestFirst (0.1s)\n--- FAIL: TestCases (0.1s)\n    --- FAIL: TestCases/C08 (0.1s)\n":       "TestFirst",
	} {
		if got := deepest(failedTest.FindAllStringSubmatch(output, -1)); got != want {
			t.Errorf("caught by %q, want %q", got, want)
		}
	}
	if !buildFailed.MatchString("FAIL\texample.com/x [build failed]\n") || buildFailed.MatchString("--- FAIL: TestBuild (0.1s)\n") {
		t.Error("a build that failed is not told from a test that did")
	}
}
