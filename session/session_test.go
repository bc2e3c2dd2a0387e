package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/model"

	"github.com/google/go-cmp/cmp"
)

func user(text string) model.Item   { return model.Item{Kind: model.User, Text: text} }
func answer(text string) model.Item { return model.Item{Kind: model.Assistant, Text: text} }

// conversation holds an item of each kind, with values that are easily lost.
var conversation = []model.Item{
	user("do <it> & say \"ü\"\n\x00\t\u2028"),
	{Kind: model.Reasoning, Text: "thinking", Opaque: &model.Opaque{Source: "w", Data: []byte(`{"encrypted":"a<b>&c","n":[1,2.50]}`)}},
	answer("I look first."),
	{Kind: model.Call, Call: &model.ToolCall{ID: "c1", Name: "shell", Arguments: `{"command": "ls"`}},
	{Kind: model.Result, CallID: "c1", Text: "a\nb\n", Failed: true},
	{Kind: model.Note, Text: "[a note]"},
}

// begun returns an open session in a new store that contains items.
func begun(t testing.TB, items ...model.Item) (*Store, *Session) {
	t.Helper()
	s := New(t.TempDir())
	ses := s.Create(Info{ID: NewID(), Folder: "/work/app", Program: "test", Model: Model{Name: "m"}})
	put(t, ses, items...)
	t.Cleanup(func() { ses.Close() })
	return s, ses
}

func put(t testing.TB, ses *Session, items ...model.Item) {
	t.Helper()
	for _, i := range items {
		if err := ses.Append(i); err != nil {
			t.Fatal(err)
		}
	}
}

func opened(t testing.TB, s *Store, id string) *Session {
	t.Helper()
	ses, err := s.Open(Info{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ses.Close() })
	return ses
}

func history(t testing.TB, ses *Session) History {
	t.Helper()
	h, err := ses.History(HistoryLimit)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func closed(t testing.TB, ses *Session) {
	t.Helper()
	if err := ses.Close(); err != nil {
		t.Fatal(err)
	}
}

func bytesOf(t testing.TB, s *Store, id string) []byte {
	t.Helper()
	data, err := os.ReadFile(s.file(id))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWhatWasSaidComesBack(t *testing.T) {
	s, ses := begun(t, conversation...)
	if err := ses.EndTurn("done", model.Usage{Input: 3}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(History{Items: conversation}, history(t, ses)); diff != "" {
		t.Error(diff)
	}
	closed(t, ses)
	again := opened(t, s, ses.ID())
	put(t, again, user("more"))
	want := append(conversation[:len(conversation):len(conversation)], user("more"))
	if diff := cmp.Diff(History{Items: want}, history(t, again)); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(s.file(ses.ID()))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestNothingSaidIsNotKept(t *testing.T) {
	s, ses := begun(t)
	if err := ses.EndTurn("done", model.Usage{}); err != nil {
		t.Fatal(err)
	}
	if err := ses.Back(1); err == nil {
		t.Error("there is no message to go back to")
	}
	if h := history(t, ses); len(h.Items) > 0 || ses.Kept() {
		t.Errorf("%+v", h)
	}
	closed(t, ses)
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Wherever the writing of the last record stopped, only that record is lost, and the next one
// is on a line of its own.
func TestTornLastLine(t *testing.T) {
	s, ses := begun(t, conversation...)
	put(t, ses, answer("the last one"))
	id := ses.ID()
	closed(t, ses)
	whole := bytesOf(t, s, id)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last; cut < len(whole); cut++ {
		if err := os.WriteFile(s.file(id), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again := opened(t, s, id)
		if diff := cmp.Diff(History{Items: conversation}, history(t, again)); diff != "" {
			t.Fatalf("cut at %d: %s", cut, diff)
		}
		put(t, again, answer("new"))
		if h := history(t, again); len(h.Items) != len(conversation)+1 || h.Damaged > 0 {
			t.Fatalf("cut at %d: %+v", cut, h)
		}
		closed(t, again)
		if now := bytesOf(t, s, id); !bytes.HasPrefix(now, whole[:last]) {
			t.Fatalf("cut at %d: what stood before was changed", cut)
		}
	}
}

// A torn line longer than any chunk.
func TestLongTornLine(t *testing.T) {
	s, ses := begun(t, conversation...)
	closed(t, ses)
	whole := bytesOf(t, s, ses.ID())
	if err := os.WriteFile(s.file(ses.ID()), append(whole, bytes.Repeat([]byte("x"), 3*chunk)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(History{Items: conversation}, history(t, opened(t, s, ses.ID()))); diff != "" {
		t.Error(diff)
	}
}

// add appends lines to a session that no process writes.
func add(t *testing.T, s *Store, id, lines string) {
	t.Helper()
	f, err := os.OpenFile(s.file(id), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(lines)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordsOfNewerKindsAreKeptAndPassedOver(t *testing.T) {
	s, ses := begun(t, user("one"))
	closed(t, ses)
	const newer = `{"kind":"hologram","at":"2030-01-01T00:00:00Z","item":{"kind":"user","text":"not this"},"new":[1]}` + "\n" +
		`{"new":1,"kind":"a\u0062c"}` + "\n"
	add(t, s, ses.ID(), newer)
	again := opened(t, s, ses.ID())
	put(t, again, answer("two"))
	if diff := cmp.Diff(History{Items: []model.Item{user("one"), answer("two")}}, history(t, again)); diff != "" {
		t.Error(diff)
	}
	if !bytes.Contains(bytesOf(t, s, ses.ID()), []byte(newer)) {
		t.Error("they are gone")
	}
}

func TestDamagedLinesAreCountedAndPassedOver(t *testing.T) {
	s, ses := begun(t, user("one"))
	closed(t, ses)
	const damage = "\x00\x00\x00\n{\"kind\":\"user\"}\n{\"kind\":\"user\",\"item\":{\"kind\":\"note\"}}\n" +
		"{\"kind\":\"back\",\"bytes\":-5}\n{\"kind\":\"back\",\"bytes\":999999}\n{\"kind\":\"back\",\"bytes\":3}\n{\"kind\":\"back\n\n"
	add(t, s, ses.ID(), damage)
	again := opened(t, s, ses.ID())
	put(t, again, answer("two"))
	if diff := cmp.Diff(History{Items: []model.Item{user("one"), answer("two")}, Damaged: 8}, history(t, again)); diff != "" {
		t.Error(diff)
	}
}

func TestFormatOfTheFutureIsLeftAlone(t *testing.T) {
	s, ses := begun(t, user("one"))
	closed(t, ses)
	data := bytes.Replace(bytesOf(t, s, ses.ID()), []byte(`"codeagent_session":1`), []byte(`"codeagent_session":2`), 1)
	data = append(data, "torn"...)
	if err := os.WriteFile(s.file(ses.ID()), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(Info{ID: ses.ID()}); err == nil || !strings.Contains(err.Error(), "newer codeagent (format 2") {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(data, bytesOf(t, s, ses.ID())) {
		t.Error("it was changed")
	}
}

// A process was killed between fork and exec of a child: on a busy machine the child holds the
// lock for a while.
func TestLockLeftByADeadProcess(t *testing.T) {
	s, ses := begun(t, user("one"))
	closed(t, ses)
	const gone = 1<<22 + 1 // above every process number
	data := bytes.Replace(bytesOf(t, s, ses.ID()), fmt.Appendf(nil, `"pid":%d`, os.Getpid()), fmt.Appendf(nil, `"pid":%d`, gone), 1)
	if err := os.WriteFile(s.file(ses.ID()), data, 0o600); err != nil {
		t.Fatal(err)
	}
	child, err := s.openFile(ses.ID(), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock(child, 1); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(3*lockTries*lockPause, func() { child.Close() })
	if h := history(t, opened(t, s, ses.ID())); len(h.Items) != 1 {
		t.Errorf("%+v", h)
	}
}

func TestTwoWriters(t *testing.T) {
	s, ses := begun(t, user("one"))
	var inUse *InUseError
	for what, err := range map[string]error{
		"open":   func() error { _, err := s.Open(Info{ID: ses.ID()}); return err }(),
		"rename": s.Rename(ses.ID(), "x"),
		"delete": s.Delete(ses.ID()),
	} {
		if !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
			t.Errorf("%s: %v", what, err)
		}
		if want := fmt.Sprintf("session %s is in use by process %d", ses.ID(), os.Getpid()); err == nil || err.Error() != want {
			t.Errorf("%s says %v, want %s", what, err, want)
		}
	}
	put(t, ses, answer("two"))
	if _, err := s.Fork(ses.ID(), 0); err != nil {
		t.Errorf("a session in use cannot be forked: %v", err)
	}
	closed(t, ses)
	if err := ses.Append(answer("three")); err == nil {
		t.Error("a closed session takes more")
	}
	if h := history(t, opened(t, s, ses.ID())); len(h.Items) != 2 {
		t.Errorf("%+v", h)
	}
}

// After a failed write there is no half line to which the next record would be appended.
func TestFailedWrite(t *testing.T) {
	s, ses := begun(t, user("one"))
	good := ses.f
	ses.f, _ = os.Open(s.file(ses.ID())) // neither writes nor truncation succeed
	if err := ses.Append(answer("lost")); err == nil {
		t.Fatal("written to a file opened for reading")
	}
	ses.f.Close()
	ses.f = good
	if err := ses.Append(answer("not after that")); err == nil {
		t.Error("it goes on although it does not know what stands there")
	}
	closed(t, ses)
	if diff := cmp.Diff(History{Items: []model.Item{user("one")}}, history(t, opened(t, s, ses.ID()))); diff != "" {
		t.Error(diff)
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "absent"))
	ses := s.Create(Info{ID: NewID()})
	first := ses.Append(user("one"))
	if first == nil || !errors.Is(ses.Append(answer("two")), first) || ses.EndTurn("done", model.Usage{}) == nil {
		t.Errorf("%v", first)
	}
	for _, err := range s.List() {
		t.Errorf("listed: %v", err)
	}
}

func TestItemsAreBounded(t *testing.T) {
	_, ses := begun(t, user("one"))
	put(t, ses, answer(strings.Repeat("\x01ü", maxLine/2)))
	h := history(t, ses)
	text := h.Items[len(h.Items)-1].Text
	if len(text) > maxLine/8+100 || !strings.HasSuffix(text, fmt.Sprintf("[The rest of %d bytes was not kept.]", maxLine/2*3)) {
		t.Errorf("%d bytes, ends %q", len(text), text[len(text)-60:])
	}
	call := model.Item{Kind: model.Call, Call: &model.ToolCall{ID: "c", Arguments: strings.Repeat("x", maxLine)}}
	if err := ses.Append(call); !errors.Is(err, errTooLong) {
		t.Errorf("%v", err)
	}
	put(t, ses, answer("goes on"))
}

func TestHistoryIsBounded(t *testing.T) {
	_, ses := begun(t)
	for n := range 100 {
		put(t, ses, user(fmt.Sprintf("message %d", n)), answer(strings.Repeat("x", 1000)))
	}
	h, err := ses.History(10_000)
	if err != nil {
		t.Fatal(err)
	}
	if !h.Omitted || h.Items[0].Kind != model.Note || h.Items[1].Text != "message 92" || len(h.Items) != 17 {
		t.Errorf("%v, %d items: %.200v", h.Omitted, len(h.Items), h.Items)
	}
	if h, err = ses.History(1); err != nil || len(h.Items) != 2 || h.Items[1].Kind != model.Assistant {
		t.Errorf("%v %.200v", err, h)
	}
}

func TestBadNames(t *testing.T) {
	s, ses := begun(t, user("one"))
	closed(t, ses)
	outside := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(outside, bytesOf(t, s, ses.ID()), 0o600); err != nil {
		t.Fatal(err)
	}
	const linked = "00000000000000aa"
	if err := os.Symlink(outside, s.file(linked)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "..", "../x", ses.ID()[:15], ses.ID() + "0", strings.ToUpper(ses.ID()) + "\n", "0123456789abcdef", linked} {
		if _, err := s.Open(Info{ID: id}); err == nil || id != linked && !errors.Is(err, ErrNotFound) {
			t.Errorf("open %q: %v", id, err)
		}
		if _, err := s.Find(id); !errors.Is(err, ErrNotFound) && id != ses.ID()[:15] && id != linked {
			t.Errorf("find %q: %v", id, err)
		}
		for what, err := range map[string]error{"delete": s.Delete(id), "rename": s.Rename(id, "x")} {
			if err == nil && (id != linked || what != "delete") {
				t.Errorf("%s %q", what, id)
			}
		}
	}
	if _, err := os.Lstat(s.file(linked)); err == nil {
		t.Error("a link was not deleted")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("where a link led was deleted: %v", err)
	}
}

func TestSyncedClock(t *testing.T) {
	s, ses := begun(t)
	at := time.Date(2030, 1, 2, 3, 4, 5, 6789012, time.UTC)
	s.now = func() time.Time { return at }
	put(t, ses, user("one"))
	m, err := s.Messages(ses.ID())
	if err != nil || len(m) != 1 || !m[0].At.Equal(at.Truncate(time.Millisecond)) || m[0].Text != "one" {
		t.Errorf("%+v %v", m, err)
	}
}

// TestChangedWhileItIsOpen: the process that writes the session records another model and a
// title, and no other process may.
func TestChangedWhileItIsOpen(t *testing.T) {
	s, ses := begun(t)
	if err := ses.Asks(Model{Name: "early"}); err != nil {
		t.Fatal(err)
	}
	if err := ses.Rename("nothing"); err == nil {
		t.Error("a session without a word has a title")
	}
	put(t, ses, user("hello"))
	if err := errors.Join(ses.Asks(Model{Name: "another", Provider: "p", Host: "h:1", Window: 32_768}), ses.Asks(Model{Name: "another", Provider: "p", Host: "h:1", Window: 32_768}), ses.Rename("the title"), ses.EndTurn("done", model.Usage{})); err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	if err := s.Free(ses.ID()); !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Errorf("free: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(s.dir, ses.ID()+suffix))
	if err != nil || strings.Count(string(data), `"model":"early"`) != 1 || strings.Count(string(data), `"model":"another"`) != 1 {
		t.Errorf("%v\n%s", err, data)
	}
	want := Model{Name: "another", Provider: "p", Host: "h:1", Window: 32_768}
	if m, err := s.LastModel(ses.ID()); err != nil || m != want {
		t.Errorf("the last model is %+v, %v", m, err)
	}
	if m, err := s.LastModel(NewID()); !errors.Is(err, ErrNotFound) {
		t.Errorf("the last model of no session is %+v, %v", m, err)
	}
	if err := ses.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Free(ses.ID()); err != nil {
		t.Errorf("free: %v", err)
	}
	for sum := range s.List() {
		if sum.Title != "the title" {
			t.Errorf("the title is %q", sum.Title)
		}
	}
}
