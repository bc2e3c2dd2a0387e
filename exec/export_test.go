package exec

// Printed returns the Output of a command that printed text.
func Printed(text string) Output {
	var k keeper
	k.add(1, []byte(text))
	return k.output()
}
