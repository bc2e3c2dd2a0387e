package session

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"codeagent/model"

	"github.com/google/go-cmp/cmp"
)

// Reading backward finds the same lines as reading forward, whatever their lengths and
// wherever the chunks end.
func TestBackward(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range r.IntN(60) {
			n := []int{0, 1, 100, firstChunk - 1, firstChunk, chunk - 1, chunk, chunk + 1, 3 * chunk}[r.IntN(9)]
			b.WriteString(strings.Repeat(string(rune('a'+r.IntN(26))), n) + "\n")
		}
		text := b.String()
		start := 0
		if r.IntN(2) == 0 {
			start = strings.IndexByte(text, '\n') + 1
		}
		var got []string
		back := &backward{r: strings.NewReader(text), start: int64(start), pos: int64(len(text))}
		for back.next() {
			if text[back.offset:back.offset+int64(len(back.line))] != string(back.line) {
				t.Fatalf("seed %d: offset %d is wrong", seed, back.offset)
			}
			got = append(got, string(back.line)+"\n")
		}
		slices.Reverse(got)
		if want := slices.Collect(strings.Lines(text[start:])); back.err != nil || !slices.Equal(got, want) {
			t.Errorf("seed %d: %d lines, want %d; %v", seed, len(got), len(want), back.err)
		}
	}
}

func TestLineLongerThanAnyRecord(t *testing.T) {
	s, ses := begun(t, user("one"))
	closed(t, ses)
	add(t, s, ses.ID(), strings.Repeat("x", maxLine+3*chunk)+"\n")
	again := opened(t, s, ses.ID())
	put(t, again, answer("two"))
	want := []model.Item{user("one"), answer("two")}
	if diff := cmp.Diff(History{Items: want, Damaged: 1}, history(t, again)); diff != "" {
		t.Error(diff)
	}
	if m, err := s.Messages(ses.ID()); err != nil || len(m) != 1 {
		t.Errorf("%v %v", m, err)
	}
}

// life is the expected content of a session in its simplest form: all items, and the positions
// of compactions.
type life struct {
	said []model.Item
	sums []sum
}

// sum replaces what came before at.
type sum struct {
	at    int
	items []model.Item
}

func (l life) with(item model.Item) life {
	l.said = append(slices.Clip(l.said), item)
	return l
}

// back removes message n and what follows it.
func (l life) back(n int) life {
	for i, item := range l.said {
		if item.Kind == model.User {
			if n--; n == 0 {
				l.said = l.said[:i]
				break
			}
		}
	}
	var kept []sum
	for _, s := range l.sums {
		if s.at <= len(l.said) {
			kept = append(kept, s)
		}
	}
	l.sums = kept
	return l
}

// compacted is l with a summary and its last items.
func (l life) compacted(text string, last int) life {
	items := append([]model.Item{summary(text)}, l.goesOn()[max(len(l.goesOn())-last, 0):]...)
	l.sums = append(slices.Clip(l.sums), sum{len(l.said), items})
	return l
}

// goesOn returns what the model is given.
func (l life) goesOn() []model.Item {
	if len(l.sums) == 0 {
		return l.said
	}
	last := l.sums[len(l.sums)-1]
	return append(slices.Clip(last.items), l.said[last.at:]...)
}

func (l life) messages() []string {
	var out []string
	for _, item := range l.said {
		if item.Kind == model.User {
			out = append(out, item.Text)
		}
	}
	return out
}

// check compares what the session continues from with want, and what its file shows to others
// with filed.
func check(t *testing.T, what string, s *Store, ses *Session, want, filed life) {
	t.Helper()
	h := history(t, ses)
	if on := want.goesOn(); !cmp.Equal(h.Items, on) && len(h.Items)+len(on) > 0 || h.Damaged > 0 || h.Omitted {
		t.Fatalf("%s: %s", what, cmp.Diff(on, h.Items))
	}
	m, err := s.Messages(ses.ID())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i, msg := range m {
		texts = append(texts, msg.Text)
		if msg.N != i+1 {
			t.Fatalf("%s: message %d is numbered %d", what, i+1, msg.N)
		}
	}
	if !slices.Equal(texts, filed.messages()) {
		t.Fatalf("%s: messages %q, want %q", what, texts, filed.messages())
	}
}

// Any sequence of writing, compacting, rewinding, closing and forking leaves the expected
// conversation. A rewound part remains visible to others, and after closing, until something
// more is written.
func TestBackAndFork(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		s, ses := begun(t, user("first"))
		want := life{}.with(user("first"))
		filed := want
		for step := range 60 {
			n := len(want.messages())
			switch r.IntN(9) {
			case 0:
				closed(t, ses)
				ses, want = opened(t, s, ses.ID()), filed
			case 1:
				if n == 0 {
					continue
				}
				k := 1 + r.IntN(n)
				if err := ses.Back(k); err != nil {
					t.Fatal(err)
				}
				want = want.back(k)
			case 2:
				k := 0
				if n := len(filed.messages()); n > 0 {
					k = r.IntN(n + 1)
				}
				id, err := s.Fork(ses.ID(), k)
				if err != nil {
					t.Fatal(err)
				}
				before := bytesOf(t, s, ses.ID())
				check(t, "the original", s, ses, want, filed)
				old := ses
				ses, want = opened(t, s, id), filed.back(k)
				put(t, ses, answer("in the fork"))
				want = want.with(answer("in the fork"))
				filed = want
				if !bytes.Equal(before, bytesOf(t, s, old.ID())) {
					t.Fatal("the original changed with its fork")
				}
				closed(t, old)
			case 3:
				want = want.compacted(fmt.Sprintf("summary %d", step), r.IntN(4))
				compacted(t, ses, want.goesOn()...)
				filed = want
			default:
				item := []model.Item{user(fmt.Sprintf("message %d", step)), answer(fmt.Sprintf("answer %d", step))}[r.IntN(2)]
				put(t, ses, item)
				want = want.with(item)
				filed = want
			}
			check(t, fmt.Sprintf("seed %d, step %d", seed, step), s, ses, want, filed)
		}
		for _, n := range []int{-2, 0, len(want.messages()) + 1} {
			if err := ses.Back(n); err == nil || !strings.Contains(err.Error(), "there is no message") {
				t.Errorf("back to %d: %v", n, err)
			}
		}
		if _, err := s.Fork(ses.ID(), len(filed.messages())+1); err == nil {
			t.Error("forked before a message that is not there")
		}
	}
}

// Whatever a file contains, reading it ends without harm, and what is appended then is there.
func FuzzFile(f *testing.F) {
	s, ses := begun(f, conversation...)
	if err := ses.Back(1); err != nil {
		f.Fatal(err)
	}
	closed(f, ses)
	whole := bytesOf(f, s, ses.ID())
	top, rest, _ := bytes.Cut(whole, []byte("\n"))
	f.Add(rest)
	f.Add([]byte("{\"kind\":\"user\",\"item\":{\"kind\":\"user\",\"text\":\"x\"}}\n{\"kind\":\"compacted\",\"items\":[{\"kind\":\"summary\",\"text\":\"y\",\"carried\":[1]}]}\n"))
	f.Add([]byte("{\"kind\":\"back\",\"bytes\":1}\n{\"kind\":\"back\",\"bytes\":27}\n\n{}\ntorn"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := New(t.TempDir())
		if err := writeFile(s.file(ses.ID()), append(append(bytes.Clone(top), '\n'), body...)); err != nil {
			t.Fatal(err)
		}
		again, err := s.Open(Info{ID: ses.ID()})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		before := history(t, again)
		put(t, again, answer("added"))
		after := history(t, again)
		if want := append(before.Items, answer("added")); !cmp.Equal(want, after.Items) {
			t.Fatal(cmp.Diff(want, after.Items))
		}
		if err := s.Export(&bytes.Buffer{}, ses.ID()); err != nil {
			t.Fatal(err)
		}
		for sum := range s.List() {
			if sum.ID != ses.ID() {
				t.Fatal(sum)
			}
		}
	})
}
