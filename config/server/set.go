package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// WithValue sets a setting outside the servers, such as "model" or "tui.mouse", to a string, a bool or an int64.
func WithValue(text []byte, setting string, value any) ([]byte, error) {
	key := strings.Split(setting, ".")
	table, name := key[:len(key)-1], key[len(key)-1]
	line, _ := toml.Marshal(map[string]any{name: value}) // such a value can always be written
	all := expressions(text)
	var edited []byte
	if i := slices.IndexFunc(all, func(e expression) bool { return !e.header && slices.Equal(e.key, key) }); i >= 0 {
		_, written, _ := strings.Cut(strings.TrimSpace(string(line)), " = ")
		edited = slices.Concat(text[:all[i].text[0]], []byte(written), text[all[i].text[1]:])
	} else {
		edited = withPair(text, table, string(line), len(text))
	}
	edited, err := checked(text, edited, key, func(any) any { return value })
	if errors.Is(err, errLayout) {
		err = fmt.Errorf("%s is written in a form that codeagent does not edit; write %s yourself", setting, strings.TrimSpace(string(line)))
	}
	return edited, err
}
