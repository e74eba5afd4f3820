package docs_test

import (
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/docs"
)

func TestRulesAndReasonsAreFoundWhereThePagesExplainThem(t *testing.T) {
	if says := docs.Rule("C68, design 5 (a)"); len(says) != 2 || !strings.HasPrefix(says[0], "C68: ") || !strings.HasPrefix(says[1], "design 5 (a): ") {
		t.Errorf("two names yield %q", says)
	}
	if says := docs.Rule("1.0 §3.1.2"); len(says) != 1 || !strings.Contains(says[0], "SendStreamingMessage") {
		t.Errorf("a section of the protocol yields %q", says)
	}
	if says := docs.Rule("C999"); says != nil {
		t.Errorf("a name that nothing explains yields %q", says)
	}
	for reason, want := range map[string][2]string{
		"StreamEmpty":      {"ended in good order without an event", "see that the handler emits events"},
		"ProbePanicked":    {"a fault of ours", "report it"}, // one row for two
		"StreamStateOther": {"", ""},
		"BufferedStream":   {"holds events back", ""},
		"SecretNotFound":   {"does not exist yet", "create it"}, // four columns
	} {
		meaning, advice := docs.Reason(reason)
		if !strings.Contains(meaning, want[0]) || !strings.Contains(advice, want[1]) || want[0] == "" && meaning != "" || want[1] == "" && advice != "" {
			t.Errorf("%s yields %q and %q, want %q", reason, meaning, advice, want)
		}
	}
}
