package protect

import (
	"path"
	"slices"
	"strings"
)

// managed are the folders that package managers fill, as patterns of one component. Many packages
// contain .vscode or .claude. There such a name is data: nobody opens a package as a project, and the
// user's next run executes its code anyway. Folders that only a manifest tells from others, as vendor,
// are missing. Threat: what was made there comes to where people work, in a folder that is renamed or
// through a link. The broker prevents both (its freedom and linksAway).
var managed = []struct{ pattern, reason string }{
	{"node_modules", "npm, pnpm, yarn and bun install packages in it"},
	{"site-packages", "installers of Python unpack packages in it"},
	{"*@v[0-9]*.[0-9]*.[0-9]*", "go unpacks one version of a module in it"},
	{"index.crates.io-*", "cargo unpacks the packages of its registry in it"},
}

// data are the kinds of names that are not protected there.
func data(k Kind) bool { return slices.Contains([]Kind{Agent, Editor, Shell}, k) }

// packages returns how many components of name lead to its first managed folder below project, or 0. A
// person opened project, wherever it lies; "" is above all. The spelling is exact.
func packages(project, name string) int {
	depth := strings.Count(strings.TrimSuffix(project, "/"), "/")
	for i, part := range strings.Split(name, "/") {
		for _, folder := range managed {
			if is, _ := path.Match(folder.pattern, part); is && i > depth {
				return i
			}
		}
	}
	return 0
}

// InPackages reports whether path is or lies below a managed folder below project.
func InPackages(project, path string) bool { return packages(project, path) > 0 }

// Enters reports whether a link at this path with this text may lead into a managed folder, in any
// spelling. In a folder called bin npm makes such links to programs, and nobody looks for a project there.
func Enters(at, text string) bool {
	return path.Base(path.Dir(at)) != "bin" && (InPackages("", "/"+text) || InPackages("", "/"+Fold(text)))
}
