package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentpeer/agentpeer/test/ports"
)

func TestManyAgentsServeUntilStandardInputCloses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(path, []byte("agents:\n- {preset: founding-honest, count: 2}\n- {id: liar, quirks: [empty-stream]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(t.Context(), []string{"-config", path, "-watch-stdin"}, in, out) }()
	lines := bufio.NewScanner(stdout)
	urls := map[string]string{}
	for lines.Scan() && lines.Text() != "ready" {
		id, url, _ := strings.Cut(lines.Text(), " ")
		urls[id] = url
	}
	for _, id := range []string{"founding-honest-1", "founding-honest-2", "liar"} {
		r, err := http.Get(urls[id] + "/debug/agent")
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != 200 {
			t.Errorf("%s: %s", id, r.Status)
		}
	}
	_ = stdin.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAgentsOfOnePortLiveUnderTheirPrefixes(t *testing.T) {
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agents.yaml")
	file := fmt.Sprintf("agents:\n- {id: a, port: %d, config: {prefix: /a}}\n- {id: b, port: %d, config: {prefix: /b, name: other}}\n", port, port)
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(t.Context(), []string{"-config", path, "-watch-stdin"}, in, out) }()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
		_, url, _ := strings.Cut(lines.Text(), " ")
		r, err := http.Get(url + "/.well-known/agent-card.json")
		if err != nil {
			t.Fatal(err)
		}
		card, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != 200 || !strings.Contains(string(card), url+"/a2a") {
			t.Errorf("%s: %s %s", url, r.Status, card)
		}
	}
	_ = stdin.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTwoAgentsCannotLiveAtOneAddress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(path, []byte("agents:\n- {id: a, port: 1}\n- {id: b, port: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-config", path}, nil, io.Discard); err == nil || !strings.Contains(err.Error(), `taken by "a"`) {
		t.Errorf("got %v", err)
	}
}

func TestUnknownPresetAndQuirkAreNamed(t *testing.T) {
	for _, args := range [][]string{{"-preset", "nobody"}, {"-quirks", "nothing"}} {
		err := run(context.Background(), args, nil, io.Discard)
		if err == nil || !strings.Contains(err.Error(), args[1]) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestListShowsPresetsAndQuirks(t *testing.T) {
	var b strings.Builder
	if err := run(context.Background(), []string{"-list"}, nil, &b); err != nil || !strings.Contains(b.String(), "zombie-cancel") {
		t.Errorf("%v: %s", err, b.String())
	}
}
