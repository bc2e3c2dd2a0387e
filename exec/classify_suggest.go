package exec

import (
	"slices"

	"codeagent/sandbox"
)

// Suggest is the least grant beyond p that would have let all of denials pass,
// widened as that of a verdict is. A folder stands for what lies below it.
func Suggest(p sandbox.Policy, r sandbox.Resolver, denials []sandbox.Denial) sandbox.Grant {
	j := judge{policy: p, resolver: r, outcome: &Outcome{}}
	for _, d := range denials {
		j.suggest(d)
	}
	all := j.grant.Write
	j.grant.Write = slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(root string) bool { return root != p && sandbox.Covers(root, p) })
	})
	return j.grant
}
