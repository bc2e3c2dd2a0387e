//go:build linux

package denials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/config/configtest"
	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// TestSuggestionsOutside: whatever a job is refused outside the workspace, codeagent accepts what it suggests,
// as a grant, as flags and as the settings that --learn prints, and the job gets further with it.
func TestSuggestionsOutside(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		rows := machine.Sample(t, 4)
		base := th.Policy
		for i, job := range backendtest.OutsideJobs {
			if !rows.Has(i) || job.Unnamed {
				continue
			}
			t.Run(job.Name, func(t *testing.T) {
				attack.Need(t, strings.Fields(job.Needs)...)
				j := newOutside(t, th, job.Script)
				run := func(p sandbox.Policy) (sandbox.Verdict, error) {
					th.Policy = p
					defer func() { th.Policy = base }()
					st, _, denials := j.run(nil, job.Script)
					v := sandbox.Verdict{Denied: st.Exit != 0, Failed: st.Exit != 0, Evidence: sandbox.EvidenceFull, Denials: denials}
					v.Suggest, v.Left = sandbox.Suggest(base, hostMetadata{}, "/nobody/home", []string{"bash", "-ec", job.Script}, denials)
					return v, nil
				}
				trial := configtest.Trial{Base: base, Own: filepath.Join(t.TempDir(), "own"), Workspace: th.Dir, Home: "/nobody/home", Files: hostMetadata{}, Command: job.Script, Run: run, Reset: func() { th.Furnish(t) }}
				first, _ := run(base)
				count, faults := trial.Faults(first)
				if len(first.Needs()) > 0 && count == 0 && len(first.Left) == 0 {
					faults = append(faults, "nothing is suggested, and no reason is given")
				}
				p := &lessons{}
				th.Policy = base
				j.run(p, job.Script)
				for _, fault := range append(faults, trial.Learned(p.denials)...) {
					t.Error(fault)
				}
			})
		}
	})
}

// lessons is a pupil that keeps the denials.
type lessons struct {
	pupil
	denials []sandbox.Denial
}

func (l *lessons) Learn(d sandbox.Denial) (sandbox.Grant, bool) {
	l.denials = append(l.denials, d)
	return l.pupil.Learn(d)
}

// hostMetadata is the host's own view.
type hostMetadata struct{}

func (hostMetadata) Lstat(p string) (os.FileMode, error) {
	fi, err := os.Lstat(p)
	if err != nil {
		return 0, err
	}
	return fi.Mode(), nil
}

func (hostMetadata) Readlink(p string) (string, error) { return os.Readlink(p) }
