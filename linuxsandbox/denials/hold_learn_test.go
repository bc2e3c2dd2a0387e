//go:build linux

package denials

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// pupil grants everything that is refused, and records it.
type pupil struct{ told []string }

func (*pupil) Asks(sandbox.Denial) bool { return true }

func (*pupil) Hold(context.Context, sandbox.Denial) (sandbox.Grant, bool) {
	panic("no Holder is asked where Command.Learn answers")
}

func (p *pupil) Learn(d sandbox.Denial) (sandbox.Grant, bool) {
	if !slices.Contains(p.told, d.Target) {
		p.told = append(p.told, d.Target)
	}
	return sandbox.Grant{Write: []string{d.Target}}, true
}

// TestLearnOutside: in one run, a command has the same results outside as without a sandbox, and
// its needs are known afterwards.
func TestLearnOutside(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		for _, job := range backendtest.OutsideJobs {
			if job.Unnamed {
				continue
			}
			t.Run(job.Name, func(t *testing.T) {
				attack.Need(t, strings.Fields(job.Needs)...)
				j, p := newOutside(t, th, job.Script), &pupil{}
				st, text, denials := j.run(p, job.Script)
				if left := j.left(); st.Exit != 0 || text != j.says || left != j.leaves || len(denials) > 0 || len(p.told) == 0 {
					t.Errorf("%+v %q, want %q; %+v; told %q; left is\n%swant\n%s", st, text, j.says, denials, p.told, left, j.leaves)
				}
			})
		}
	})
}

// TestLearn: everything outside is allowed and reported, except what is protected, denied for
// reading or codeagent's own.
func TestLearn(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		away := filepath.Dir(th.Out)
		for _, dir := range []string{"own", "secret", "repo/.git/objects", "repo/.git/hooks"} {
			if err := os.MkdirAll(filepath.Join(away, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(away+"/repo/.git/HEAD", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		th.Policy.Protected.Own = []string{away + "/own"}
		th.Policy.DenyRead = []string{away + "/secret"}
		p := &pupil{}
		st, out, denials := th.Held(t, p, `cd "${TARGET%/*}"
chmod 640 file; touch -d 2001-02-03 file; stat -c '%a %y' file | cut -c1-14
for f in own secret repo/.git/hooks; do chmod 700 $f || echo refused; done
chmod 711 "$WS"/../away/repo; for i in $(seq 100); do chmod 600 file; done`)
		if st.Exit != 0 || len(denials) != 3 {
			t.Errorf("%+v %q %+v", st, out, denials)
		}
		if want := []string{th.Out, away + "/repo"}; !slices.Equal(p.told, want) {
			t.Errorf("told %q, want %q", p.told, want)
		}
	})
}
