package helpcmd

import (
	"regexp"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/docs"

	"github.com/spf13/cobra"
)

// TestManual: each command and each page of docs/ has a manual page, whose requests are known
// and whose text is text.
func TestManual(t *testing.T) {
	root := &cobra.Command{Use: "codeagent", Short: "An agent", Run: func(*cobra.Command, []string) {}}
	run := &cobra.Command{Use: "exec [PROMPT]", Short: `Run "one" \fB-thing`, Long: ".SH FORGED\n'quoted", Run: root.Run}
	run.Flags().StringP("out", "o", "", "write to `FILE`")
	run.Flags().String("secret", "", "hidden")
	if err := run.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(run, &cobra.Command{Use: "not", Hidden: true, Run: root.Run}, New(cli.Stdio{}))
	pages := manual(root, "v1")
	for _, topic := range docs.Topics() {
		part := ".7"
		if topic == "exec" {
			part = ".1"
		}
		if pages["codeagent-"+topic+part] == "" {
			t.Errorf("no manual page of %s", topic)
		}
	}
	if pages["codeagent-not.1"] != "" {
		t.Error("a hidden command has a page")
	}
	request := regexp.MustCompile(`^\.(TH|SH|TP|PP|B|nf|fi)( |$)`)
	for name, text := range pages {
		nf := 0
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) && !request.MatchString(line) {
				t.Errorf("%s: request %q", name, line)
			}
			if rest := strings.NewReplacer(`\e`, "", `\-`, "", `\&`, "", `\(dq`, "").Replace(line); strings.Contains(rest, `\`) {
				t.Errorf("%s: escape in %q", name, line)
			}
			if strings.HasPrefix(line, "```") {
				t.Errorf("%s: Markdown %q", name, line)
			}
			switch line {
			case ".nf":
				nf++
			case ".fi":
				nf--
			}
		}
		if nf != 0 || strings.Count(text, ".SH \"DESCRIPTION\"") > 1 || !strings.HasPrefix(text, ".TH ") {
			t.Errorf("%s: %.300s", name, text)
		}
	}
	for _, want := range []string{
		".SH \"NAME\"\n.nf\ncodeagent\\-exec \\- Run \"one\" \\efB\\-thing\n", "\n\\&.SH FORGED\n\\&'quoted\n", ".TP\n.B \"\\-o, \\-\\-out FILE\"\nwrite to FILE\n",
		".SH \"EXIT STATUS\"", "codeagent exec \"why does TestParse fail?\"      # the prompt is the argument,\n",
	} {
		if !strings.Contains(pages["codeagent-exec.1"], want) {
			t.Errorf("codeagent-exec.1 has no %q", want)
		}
	}
	if strings.Contains(pages["codeagent-exec.1"], "secret\"") {
		t.Error("a hidden flag is shown")
	}
}
