package sandboxtest

import (
	"reflect"
	"testing"

	"codeagent/sandbox/resolved"
)

// elsewhere are fields of resolved.Policy that no backend enforces.
var elsewhere = map[string]string{
	"Protected.Reasons": "words for questions",
	"Limits.WallMillis": "package exec ends the command",
	"Limits.Output":     "package exec cuts what is kept",
}

// EveryField checks that rows, a table of what a backend does with each field, has one for each field of
// resolved.Policy that backends enforce.
func EveryField[R any](t testing.TB, rows map[string]R) {
	t.Helper()
	for _, field := range fields("", reflect.TypeFor[resolved.Policy]()) {
		if _, ok := rows[field]; !ok && elsewhere[field] == "" {
			t.Errorf("%s has no row", field)
		}
	}
}

// fields are the paths of the exported fields of a struct.
func fields(above string, of reflect.Type) (out []string) {
	for f := range of.Fields() {
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct:
			out = append(out, fields(above+f.Name+".", f.Type)...)
		default:
			out = append(out, above+f.Name)
		}
	}
	return out
}
