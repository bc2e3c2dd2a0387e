package tui

import (
	"reflect"

	tea "charm.land/bubbletea/v2"
)

// sequenceOf are the commands of tea.Sequence, whose type is not exported.
func sequenceOf(msg tea.Msg) []tea.Cmd {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Slice || v.Type().Elem() != reflect.TypeFor[tea.Cmd]() {
		return nil
	}
	var out []tea.Cmd
	for i := range v.Len() {
		out = append(out, v.Index(i).Interface().(tea.Cmd))
	}
	return out
}
