package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Tables, strikethrough and task lists of GitHub's Markdown. The parser's own package for them
// also holds what finds bare links; whoever links it compiles large expressions at every start of
// codeagent, which takes a twelfth of it. TestAsTheExtension compares the two.

// makeTable makes a table of the lines of a paragraph from the one above the first line of dashes
// on. What is above stays a paragraph.
func makeTable(n *ast.Paragraph, source []byte) {
	lines := n.Lines()
	for i := 1; i < lines.Len(); i++ {
		dashes, heading := lines.At(i), lines.At(i-1)
		aligned := columns(dashes.Value(source))
		if aligned == nil {
			continue
		}
		head := cells(heading, source)
		if len(head) > len(aligned) {
			return
		}
		t := extast.NewTable()
		t.Alignments = aligned
		t.SetPos(n.Pos())
		t.AppendChild(t, extast.NewTableHeader(tableRow(head, aligned)))
		for j := i + 1; j < lines.Len(); j++ {
			t.AppendChild(t, tableRow(cells(lines.At(j), source), aligned))
		}
		parent := n.Parent()
		parent.InsertAfter(parent, n, t)
		if i == 1 {
			parent.RemoveChild(parent, n)
			return
		}
		lines.SetSliced(0, i-1)
		last := lines.At(i - 2)
		lines.Set(i-2, last.TrimRightSpace(source))
		return
	}
}

// columns returns how the columns of a table are aligned below a line such as "|:--|--:|"; nil if
// the line is not one.
func columns(line []byte) []extast.Alignment {
	indent, _ := util.IndentWidth(line, 0)
	line = util.TrimLeftSpace(util.TrimRightSpace(line))
	if indent > 3 || len(bytes.Trim(line, "|")) == 0 || !bytes.ContainsAny(line, "|:") {
		return nil
	}
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte{'|'}), []byte{'|'})
	var out []extast.Alignment
	for c := range bytes.SplitSeq(line, []byte{'|'}) {
		c, left := bytes.CutPrefix(util.TrimLeftSpace(util.TrimRightSpace(c)), []byte{':'})
		c, right := bytes.CutSuffix(c, []byte{':'})
		if len(c) == 0 || len(bytes.Trim(c, "-")) > 0 {
			return nil
		}
		a := extast.AlignNone
		switch {
		case left && right:
			a = extast.AlignCenter
		case left:
			a = extast.AlignLeft
		case right:
			a = extast.AlignRight
		}
		out = append(out, a)
	}
	return out
}

// cells cuts a line of a table at the bars that no backslash is before.
func cells(line gmtext.Segment, source []byte) []gmtext.Segment {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	from, to := line.Start, line.Stop
	if from < to && source[from] == '|' {
		from++
	}
	if from < to && source[to-1] == '|' {
		to--
	}
	var out []gmtext.Segment
	for at := from; from < to; at++ {
		if at < to && (source[at] != '|' || source[at-1] == '\\' && at > line.Start) {
			continue
		}
		cell := gmtext.NewSegment(from, at)
		cell = cell.TrimLeftSpace(source)
		out = append(out, cell.TrimRightSpace(source))
		from = at + 1
	}
	return out
}

// tableRow has as many cells as there are columns.
func tableRow(cells []gmtext.Segment, aligned []extast.Alignment) *extast.TableRow {
	row := extast.NewTableRow(aligned)
	for i := range aligned {
		cell := extast.NewTableCell()
		if i < len(cells) {
			cell.Lines().Append(cells[i])
		}
		row.AppendChild(row, cell)
	}
	return row
}

// strikethrough parses ~one~ or ~~two~~ tildes around a text.
type strikethrough struct{}

func (strikethrough) Trigger() []byte { return []byte{'~'} }

func (strikethrough) Parse(_ ast.Node, r gmtext.Reader, pc parser.Context) ast.Node {
	before := r.PrecendingCharacter()
	line, at := r.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, tildes{})
	if d == nil || d.OriginalLength > 2 || before == '~' {
		return nil
	}
	d.Segment = at.WithStop(at.Start + d.OriginalLength)
	r.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

// tildes are what begins and ends a strikethrough.
type tildes struct{}

func (tildes) IsDelimiter(b byte) bool                        { return b == '~' }
func (tildes) CanOpenCloser(open, end *parser.Delimiter) bool { return open.Char == end.Char }
func (tildes) OnMatch(int) ast.Node                           { return extast.NewStrikethrough() }

// taskBoxes parses the [ ] or [x] at the beginning of an item of a list.
type taskBoxes struct{}

func (taskBoxes) Trigger() []byte { return []byte{'['} }

func (taskBoxes) Parse(parent ast.Node, r gmtext.Reader, _ parser.Context) ast.Node {
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := r.PeekLine()
	if len(line) < 3 || line[0] != '[' || line[2] != ']' {
		return nil
	}
	checked := line[1] == 'x' || line[1] == 'X'
	if !checked && !util.IsSpace(line[1]) {
		return nil
	}
	r.Advance(3 + util.TrimLeftSpaceLength(line[3:]))
	return extast.NewTaskCheckBox(checked)
}
