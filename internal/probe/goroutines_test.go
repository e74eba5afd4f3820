package probe

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentpeer/agentpeer/internal/trust"
	"github.com/agentpeer/agentpeer/internal/wire"
	"github.com/agentpeer/agentpeer/test/agent"
)

// asides are the places where the packages that meet peers have something done in a goroutine of its own, and why a fault of ours there does
// not end the process at a peer's pleasure: what is done recovers, or the function that it calls, or it reads nothing that peers send.
var asides = []struct{ at, why string }{
	{"../wire/body.go urge AfterFunc", "counts bytes and reads none"},
	{"../wire/conns.go close AfterFunc", "closes connections"},
	{"../wire/grpc_answer.go openGRPC go run", "recovers"},
	{"../wire/oauth2.go get DoChan", "recovers"},
	{"../wire/open.go open go run", "recovers"},
	{"interfaces.go lookAtInterfaces Go", "askInterface recovers"},
	{"ledger.go cleanUp Go", "session.ended recovers"},
	{"linger.go lingering AfterFunc", "ends a context, or has it ended"},
	{"linger.go lingering AfterFunc", "ends a context"},
	{"long.go listenBeside go", "recovers"},
	{"runner.go Start go", "waits"},
	{"runner.go start go round", "Run recovers"},
	{"runner.go round AfterFunc", "counts places"},
	{"selfcall.go keepVigil go", "recovers"},
	{"watch.go spawn go", "recovers"},
	{"watch.go stream AfterFunc", "ends a context"},
}

func TestWhatRunsAsideOutlivesAFaultOfOurs(t *testing.T) {
	var got, want []string
	for _, dir := range []string{"../wire/", ""} {
		files, funcs := sources(t, dir)
		for name, f := range files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					how, run := aside(n)
					if how == "" {
						return true
					}
					at := name + " " + fn.Name.Name + " " + how
					got = append(got, at)
					for _, a := range asides {
						if a.at == at && !recovers(a.why, run, funcs) {
							t.Errorf("%s: not so: %s", at, a.why)
						}
					}
					return true
				})
			}
		}
	}
	for _, a := range asides {
		want = append(want, a.at)
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("what runs in a goroutine of its own (-listed +found); what reads what peers send must recover there:\n%s", d)
	}
}

// sources are the files of a package, without its tests, and the bodies of its functions by their name, with and without the receiver's.
func sources(t *testing.T, dir string) (files map[string]*ast.File, funcs map[string][]*ast.BlockStmt) {
	t.Helper()
	names, err := filepath.Glob(dir + "*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %q: %v", dir, err)
	}
	files, funcs = map[string]*ast.File{}, map[string][]*ast.BlockStmt{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				for _, known := range []string{fn.Name.Name, methodOf(fn) + "." + fn.Name.Name} {
					funcs[known] = append(funcs[known], fn.Body)
				}
			}
		}
	}
	return files, funcs
}

// methodOf names the type that a method is of; empty for a function.
func methodOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	of := fn.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	name, _ := of.(*ast.Ident)
	return name.String()
}

// aside tells whether something has a function run in a goroutine of its own: how, with the name of a function that is named, and which.
func aside(n ast.Node) (how string, run ast.Expr) {
	switch n := n.(type) {
	case *ast.GoStmt:
		if s, ok := n.Call.Fun.(*ast.SelectorExpr); ok {
			return "go " + s.Sel.Name, n.Call.Fun
		}
		return "go", n.Call.Fun
	case *ast.CallExpr:
		if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"AfterFunc", "DoChan", "Go"}, s.Sel.Name) {
			return s.Sel.Name, n.Args[len(n.Args)-1]
		}
	}
	return "", nil
}

// recovers: a deferred function of what is run, or of the function that why names, calls recover. It is true of what need not.
func recovers(why string, run ast.Expr, funcs map[string][]*ast.BlockStmt) bool {
	name, claims := strings.CutSuffix(why, "recovers")
	if !claims {
		return true
	}
	bodies := funcs[strings.TrimSpace(name)]
	if name == "" {
		switch run := run.(type) {
		case *ast.FuncLit:
			bodies = []*ast.BlockStmt{run.Body}
		case *ast.SelectorExpr:
			bodies = funcs[run.Sel.Name]
		}
	}
	return len(bodies) > 0 && !slices.ContainsFunc(bodies, func(b *ast.BlockStmt) bool { return !slices.ContainsFunc(b.List, defersRecover) })
}

func defersRecover(s ast.Stmt) (found bool) {
	d, ok := s.(*ast.DeferStmt)
	if !ok {
		return false
	}
	ast.Inspect(d, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok {
			id, ok := call.Fun.(*ast.Ident)
			found = found || ok && id.Name == "recover"
		}
		return true
	})
	return found
}

// What is told of exchanges is told from the goroutines that read them, so a fault there is a fault in all of them.
func TestAFaultAsideEndsNoProcess(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		quirks []string
		at     func(wire.Exchange) bool
		want   trust.Reason
	}{
		"at the end of a stream":           {at: func(e wire.Exchange) bool { return e.End != "" }, want: trust.ReasonUnexpectedAnswer},
		"at the end of a stream of gRPC":   {quirks: []string{"grpc-only"}, at: func(e wire.Exchange) bool { return e.End != "" }, want: trust.ReasonUnexpectedAnswer},
		"while tasks are canceled at last": {quirks: []string{"stuck"}, at: func(e wire.Exchange) bool { return e.Question == ErrandCleanUp }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults atomic.Int64
			env := Env{Egress: agent.Loopback(), Trace: func(e wire.Exchange) {
				if tc.at(e) {
					faults.Add(1)
					panic("a fault of our own")
				}
			}}
			rep := Run(context.Background(), env, jobFor(t, with(agent.V10, tc.quirks...).Start(t), trust.Streaming))
			o, ok := find(rep, trust.Streaming)
			if !ok || faults.Load() == 0 || tc.want != "" && (o.Outcome != trust.Inconclusive || o.Reason != tc.want) {
				t.Errorf("%d faults, %s %s: %s", faults.Load(), o.Outcome, o.Reason, o.Message)
			}
			if tc.want == "" && len(rep.Orphans) == 0 {
				t.Error("a task that may go on is not listed")
			}
		})
	}
}
