package protect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Threat: on a file system that folds names (ext4 with casefold, APFS, vfat) many spellings open
// one entry: .Claude, .git/hooKs with the Kelvin sign, conﬁg with a ligature, .g<U+200C>it. Which
// file system a folder is on can change while a command runs. So names are always compared folded;
// that a harmless file of such a name is closed as well costs little.

// expanded are the characters outside ASCII whose full case folding is ASCII (Unicode's
// CaseFolding.txt), which ext4 and APFS apply.
var expanded = map[rune]string{
	'\u212a': "k", 'ſ': "s", 'ß': "ss", 'ẞ': "ss",
	'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st",
}

// other stands in a folded name for letters with accents and for other scripts: é as one character
// and as two is the same name for these file systems. Different accents become the same.
const other = '\x01'

// Fold returns a form of name, or of a path, that is equal for all names that any file system takes
// for the same. It keeps slashes.
func Fold(name string) string {
	if folded(name) {
		return name
	}
	out := make([]byte, 0, len(name))
	for _, r := range name {
		last := len(out) - 1
		switch text, ok := expanded[r]; {
		case r == '/':
			out = append(withoutDots(out), '/')
		case r < utf8.RuneSelf:
			out = append(out, byte(unicode.ToLower(r)))
		case ok:
			out = append(out, text...)
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		case last >= 0 && out[last] == other:
		case last >= 0 && unicode.Is(unicode.M, r) && out[last] != '/': // an accent of the letter before
			if out = append(out[:last], other); last > 0 && out[last-1] == other {
				out = out[:last]
			}
		default:
			out = append(out, other)
		}
	}
	return string(withoutDots(out))
}

// withoutDots removes dots and spaces at the end of a component: vfat ignores them.
func withoutDots(path []byte) []byte {
	end := len(path)
	for end > 0 && (path[end-1] == '.' || path[end-1] == ' ') {
		end--
	}
	return path[:end]
}

// folded reports a name that Fold leaves as it is; most are.
func folded(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' || (c == '.' || c == ' ') && (i+1 == len(name) || name[i+1] == '/') {
			return false
		}
	}
	return true
}

// lock is what programs append to a name for the file that they then rename onto it. Threat: who
// has the lock of another program open writes what that program puts into place.
const lock = ".lock"

// Covers reports whether path is root, lies below it, or is its lock, whatever the spelling.
func Covers(root, path string) bool {
	if differ(root, path) {
		return false
	}
	rest, ok := strings.CutPrefix(Fold(path), strings.TrimSuffix(Fold(root), "/"))
	return ok && ends(rest)
}

// differ finds at their first different letter that two paths stay different when folded. It is
// for speed: a policy can protect thousands of paths, and each change is compared with all of them.
func differ(a, b string) bool {
	for i := range min(len(a), len(b)) {
		x, y := rune(a[i]), rune(b[i])
		switch {
		case x == y:
		case x >= utf8.RuneSelf || y >= utf8.RuneSelf, strings.ContainsRune("./ ", x) && strings.ContainsRune("./ ", y):
			return false // folded, they may be the same
		case unicode.ToLower(x) != unicode.ToLower(y):
			return true
		}
	}
	return false
}

// Locks reports whether path is the lock of file, whatever the spelling.
func Locks(file, path string) bool { return Fold(path) == Fold(file)+lock }

// LockOf returns the file that path would lock, and whether path has the name of a lock.
func LockOf(path string) (file string, is bool) { return strings.CutSuffix(path, lock) }

// ends reports whether a name is complete before rest.
func ends(rest string) bool { return rest == "" || rest[0] == '/' || rest == lock }
