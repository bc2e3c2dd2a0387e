package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var errEmpty = errors.New("the value is empty")

// RefuseEmpty makes every command refuse a flag whose text is empty: in a script that is a variable
// that is not set, and without the flag a run would be less confined, or check less, than the
// script asks for. Hidden flags have no effect, and take anything.
func RefuseEmpty(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		RefuseEmpty(sub)
	}
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			_, done := f.Value.(nonEmpty)
			if kind := f.Value.Type(); !done && !f.Hidden && (kind == "string" || kind == "stringArray") {
				f.Value = nonEmpty{f.Value}
				f.DefValue = strings.TrimSuffix(f.DefValue, "[]") // pflag prints it where it does not know the type
			}
		})
	}
}

// nonEmpty is a value of a flag that takes no empty text.
type nonEmpty struct{ pflag.Value }

func (v nonEmpty) Set(text string) error {
	if text == "" {
		return errEmpty
	}
	return v.Value.Set(text)
}

// NamedFlag returns the error of a flag that was given empty in the words of other wrong values, and
// every other error as it is.
func NamedFlag(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.Is(err, errEmpty) && errors.As(err, &invalid) {
		return fmt.Errorf("--%s: %w", invalid.GetFlag().Name, errEmpty)
	}
	return err
}
