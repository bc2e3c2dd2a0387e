package webtext

import "testing"

func TestHTML(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"paragraphs", "<p>one\n two<p>three<br>four<br><br><br>five", "one two\n\nthree\nfour\n\nfive"},
		{"headings", "<h1>A <em>b</em></h1>text<h3></h3><h2>C</h2>", "# A b\n\ntext\n\n## C"},
		{"spaces", "a<b> b</b><i>c </i>d <span> e</span>", "a bc d e"},
		{"lists", "<ul><li>a<li><p>b</p><ul><li>c</ul><li></ul><ol start=3><li>x<li><ol><li>y</ol></ol>", "- a\n- b\n  - c\n\n3. x\n4. 1. y"},
		{"quotation", "<blockquote>a<br>b<ul><li>c</ul></blockquote>d", "> a\n> b\n\n> - c\n\nd"},
		{"links", `<a href="/b?x=1">text</a> <a href="#top">top</a> <a href="javascript:alert(1)">no</a> <a href="x"></a><a href="c"><img alt="logo"></a>`,
			"[text](https://site.example/b?x=1) top no [[image: logo]](https://site.example/dir/c)"},
		{"base", `<base href="//other.example/z/"><a href="b)">l</a>`, "[l](https://other.example/z/b%29)"},
		{"code", "<p>run <code>go  test</code>, or:</p><pre>if x {\n\ty()\n}\n</pre>", "run `go test`, or:\n\n```\nif x {\n\ty()\n}\n```"},
		{"fences", "<pre>```\nx</pre>", "````\n```\nx\n````"},
		{"lines of elements", "<pre><div>a</div><div>b</div>c<br>d</pre>", "```\na\nb\nc\nd\n```"},
		{"table", "<table><tr><th>a<th>b</tr><tr><td>1<td><td>2</tr><tr><td><td>x</table>after", "a | b\n1 | | 2\n| x\n\nafter"},
		{"tables in tables", "<table><tr><td>a<table><tr><td>b<td>c</table>d<td>e<tr><td>f</table>g", "a\n\nb | c\n\nd | e\nf\n\ng"},
		{"an open list in a cell", "<table><tr><td><ul><li>a<td>b</table>c", "- a\n\n| b\n\nc"},
		{"definitions", "<dl><dt>t<dd>d<dd>e</dl>", "t\n  d\n  e"},
		{"not shown", "<head><style>x</style><meta content=y></head><script>a</script><div hidden>b</div><p style='display : none'>c</p><template>d</template><svg><text>e</text></svg><noscript>f</noscript><!-- g --> h", "f h"},
		{"characters", "a\u202eb\u200bc\u00add\x1b[31m &#x202e; \U000E0041", "a<U+202E>bcd␛[31m <U+202E> <U+E0041>"},
	}
	for _, tt := range tests {
		p := HTML(tt.in, "https://site.example/dir/page")
		if p.Text != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, p.Text, tt.want)
		}
	}
}
