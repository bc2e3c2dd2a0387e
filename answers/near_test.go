package answers

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var textsFile = flag.String("texts", "", "write the texts whose vectors testdata/vectors.gz has to this `file`, one a line")

// pair is two messages, and what they differ in.
type pair struct{ kind, one, other string }

// What the templates are filled with.
var (
	things  = strings.Fields("parser server client cache database session package script")
	files   = strings.Fields("main.go src/server.py lib/cache.js README.md config/db.toml")
	actions = strings.Fields("read start build test")
)

// filled are the texts that a template makes: A and B become two different things, F a file, V an action.
func filled(template string) (out []string) {
	for i, a := range things {
		b := things[(i+3)%len(things)]
		r := strings.NewReplacer("{A}", a, "{B}", b, "{F}", files[i%len(files)], "{V}", actions[i%len(actions)])
		out = append(out, r.Replace(template))
	}
	return out
}

// pairs fills two templates alike.
func pairs(kind, one, other string) (out []pair) {
	others := filled(other)
	for i, text := range filled(one) {
		if text != others[i] {
			out = append(out, pair{kind, text, others[i]})
		}
	}
	return out
}

// nearPairs are messages that look alike and ask for something else: n of them, in turn of each template.
func nearPairs(n int) []pair {
	var all [][]pair
	for _, t := range [][3]string{
		{"reversed", "How do I convert the {A} into a {B}?", "How do I convert the {B} into a {A}?"},
		{"reversed", "Does the {A} call the {B}?", "Does the {B} call the {A}?"},
		{"reversed", "Is the {A} faster than the {B}?", "Is the {B} faster than the {A}?"},
		{"reversed", "Please explain why the {A} waits for the {B}.", "Please explain why the {B} waits for the {A}."},
		{"reversed", "What is copied from the {A} to the {B}?", "What is copied from the {B} to the {A}?"},
		{"reversed", "Show how {F} uses the {A} before the {B}", "Show how {F} uses the {B} before the {A}"},
		{"negated", "Which functions of the {A} are tested?", "Which functions of the {A} are not tested?"},
		{"negated", "How do I {V} the {A} with the {B}?", "How do I {V} the {A} without the {B}?"},
		{"negated", "Why does the {A} {V} the {B}?", "Why doesn't the {A} {V} the {B}?"},
		{"negated", "Is it safe to {V} the {A} twice?", "Is it never safe to {V} the {A} twice?"},
		{"negated", "Please list the files that have a {A}", "Could you please list the files that have no {A}?"},
		{"negated", "What fails in {F} if the {A} is there?", "What fails in {F} unless the {A} is there?"},
		{"number", "What does line 12 of {F} do to the {A}?", "What does line 21 of {F} do to the {A}?"},
		{"number", "Explain step 1 of the {A}", "Explain step 2 of the {A}"},
		{"number", "What changed in the {A} in version 1.5?", "What changed in the {A} in version 1.50?"},
		{"number", "What if the {A} has 10 entries?", "What if the {A} has 10² entries?"},
		{"number", "Why are there two of the {A}?", "Why are there three of the {A}?"},
		{"number", "Is a timeout of 5s enough for the {A}?", "Is a timeout of 5m enough for the {A}?"},
		{"name", "Where is the {A} made?", "Where is the {B} made?"},
		{"name", "What does New of the {A} return?", "What does new of the {A} return?"},
		{"name", "What does option a of the {A} do?", "What does option b of the {A} do?"},
		{"name", "What does option a of the {A} do?", "What does the option of the {A} do?"},
		{"name", "Is the {A} written in C?", "Is the {A} written in C++?"},
		{"name", "What does src/{A}.go do?", "What does test/{A}.go do?"},
		{"name", "What does --{A} do?", "What does -{A} do?"},
		{"name", "List the files in the {A} folder ..", "List the files in the {A} folder ."},
		{"word", "What runs before the {A} starts?", "What runs after the {A} starts?"},
		{"word", "Who may {V} the {A}?", "Who must {V} the {A}?"},
		{"word", "Do all tests of the {A} pass?", "Do any tests of the {A} pass?"},
		{"word", "What is the first error of the {A}?", "What is the last error of the {A}?"},
		{"word", "What reads the {A}?", "What writes the {A}?"},
		{"word", "Where is the {A} opened?", "Where is the {A} closed?"},
		{"word", "Is the {A} used more than the {B}?", "Is the {A} used less than the {B}?"},
		{"word", "Why is the {A} slow?", "When is the {A} slow?"},
		{"word", "Which checks are x < y in the {A}?", "Which checks are x > y in the {A}?"},
		{"word", "Is only the {A} cached?", "Is the {A} only cached?"},
		{"request", "Can you {V} the {A}?", "{V} the {A}"},
		{"request", "Could you delete the {A}?", "Please delete the {A}"},
		{"request", "The {A} is broken?", "The {A} is broken."},
		{"request", "You changed the {A}?", "You changed the {A}"},
		{"added", "What does the {A} do?", "What does the old {A} do?"},
		{"added", "Explain {F} in short", "Explain {F}"},
		{"added", "Explain the {A}, please", "Explain the {A} and the {B}, please"},
		{"added", "How large is the {A}?", "How large is the {A} now?"},
		{"added", "Find uses of the {A}", "Find uses of the {A} in {F}"},
		{"negated", "I want to {V} the {A}: how?", "I do not want to {V} the {A}: how?"},
		{"negated", "No, {V} the {A} and say how", "{V} the {A} and say how"},
		{"reversed", "Rename the {A} to {B}: where?", "Rename the {B} to {A}: where?"},
		{"reversed", "Please compare {A} with {B} by what {F} does", "Please compare {B} with {A} by what {F} does"},
		{"number", "Explain commit 3 of the {A}", "Explain commit -3 of the {A}"},
		{"number", "Which ports from 80 to 90 has the {A}?", "Which ports from 90 to 80 has the {A}?"},
		{"name", "What is in {F} for the {A}?", "What is in {F}.bak for the {A}?"},
		{"word", "Is the {A} local or remote by default?", "Is the {A} local and remote by default?"},
		{"word", "How is the {A} encoded?", "How is the {A} decoded?"},
		{"word", "Is the {A} at most as large as the {B}?", "Is the {A} at least as large as the {B}?"},
		{"word", "May I {V} the {A}?", "Might I {V} the {A}?"},
		{"negated", "Does anything {V} the {A}?", "Does nothing {V} the {A}?"},
		{"negated", "Which tests need the {A} and the {B}?", "Which tests need neither the {A} nor the {B}?"},
		{"word", "Is the {A} started by hand or by {F}?", "Is the {A} stopped by hand or by {F}?"},
		{"reversed", "Did the {A} break the {B}, or was it {F}?", "Did the {B} break the {A}, or was it {F}?"},
		{"name", "Who calls Stop of the {A}?", "Who calls stop of the {A}?"},
		{"word", "Which of them share the {A}?", "Which of them own the {A}?"},
		{"word", "Explain the {A} to me", "Explain me to the {A}"},
	} {
		all = append(all, pairs(t[0], t[1], t[2]))
	}
	return inTurn(all, n)
}

// paraphrases are messages that ask the same: half of them in the same content words, half in other words.
func paraphrases(n int) []pair {
	var all [][]pair
	for _, t := range [][3]string{
		{"same words", "What does the {A} do?", "what does the {A}  do"},
		{"same words", "Please explain how {F} uses the {A}.", "Could you please explain how {F} uses the {A}?"},
		{"same words", "Explain the {A} of the project, please.", "Please explain the {A} of the project"},
		{"same words", "Where is the {A} opened and closed?", "Where is {A} opened, and closed"},
		{"same words", "List the tests of the {A}!", "Kindly list the tests of the {A}."},
		{"same words", "How do I {V} the {A} by hand?", "“How do I {V} the {A} by hand?” please"},
		{"same words", "Which functions of the {A} have no tests?", "Which functions of {A} have no tests? Thanks"},
		{"same words", "Can you please summarize {F} and the {A}?", "Please summarize {F} and the {A}."},
		{"same words", "Why does the {A} wait for the {B}?", "Why does the {A} wait for the {B} ?"},
		{"same words", "Tell me what an error of the {A} means.", "Would you please tell me what an error of the {A} means?"},
		{"same words", "Does the {A} call the {B}?", "does the {A} call the {B}?"},
		{"same words", "Show me who uses the {A}", "Show me who uses {A}!"},
		{"same words", "Is the {A} ready, and tested?", "Is {A} ready and tested?"},
		{"other words", "What does the {A} do?", "What is the {A} for?"},
		{"other words", "How do I {V} the {A} by hand?", "What is the way to {V} the {A} manually?"},
		{"other words", "Where is the {A} made?", "In which file is the {A} created?"},
		{"other words", "Explain how the {A} works", "Describe the way the {A} works"},
		{"other words", "Which tests need the {A}?", "What tests depend on the {A}?"},
		{"other words", "Why is the {A} slow?", "What makes the {A} slow?"},
		{"other words", "List the functions in {F} that use the {A}", "Which functions in {F} use the {A}?"},
		{"other words", "Who calls the {A}?", "What are the callers of the {A}?"},
		{"other words", "Does the {A} call the {B}?", "Is the {B} called by the {A}?"},
		{"other words", "Is the {A} documented?", "Is there documentation for the {A}?"},
		{"other words", "Can you explain the {A}?", "Explain the {A}"},
		{"other words", "What's in {F} for the {A}?", "What is in {F} for the {A}?"},
		{"other words", "Show the settings of the {A}", "Show a list of all settings of the {A}"},
	} {
		all = append(all, pairs(t[0], t[1], t[2]))
	}
	return inTurn(all, n)
}

// inTurn takes n pairs, one of each list in turn.
func inTurn(all [][]pair, n int) (out []pair) {
	for i := 0; len(out) < n; i++ {
		before := len(out)
		for _, list := range all {
			if i < len(list) && len(out) < n {
				out = append(out, list[i])
			}
		}
		if len(out) == before {
			return out
		}
	}
	return out
}

const (
	near, same = 500, 200
	dimensions = 512 // of the recorded vectors
)

// recorded returns the embedding that was recorded for each text of the pairs.
func recorded(t *testing.T) func(context.Context, string) ([]float32, error) {
	var texts []string
	for _, p := range slices.Concat(nearPairs(near), paraphrases(same)) {
		texts = append(texts, p.one, p.other)
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	all := strings.Join(texts, "\n")
	if *textsFile != "" {
		if err := os.WriteFile(*textsFile, []byte(all+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := os.ReadFile(filepath.Join("testdata", "vectors.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(all))
	if len(data) != len(sum)+dimensions*len(texts) || !bytes.HasPrefix(data, sum[:]) {
		t.Fatalf("testdata/vectors.gz has vectors of other texts: see testdata/README.md")
	}
	vectors := map[string][]float32{}
	for i, text := range texts {
		v := make([]float32, dimensions)
		for j := range v {
			v[j] = float32(int8(data[len(sum)+dimensions*i+j]))
		}
		vectors[text] = v
	}
	return func(_ context.Context, text string) ([]float32, error) {
		v, ok := vectors[text]
		if !ok {
			return nil, fmt.Errorf("no vector was recorded for %q", text)
		}
		return slices.Clone(v), nil
	}
}

// hits stores the first message of each pair in a scope of its own, and looks for the second. It returns which hit, and the
// cosines.
func hits(t *testing.T, list []pair) (hit []bool, cosines []float64) {
	p := newPlace(t)
	p.opt.Embed, p.opt.By, p.opt.Threshold = recorded(t), "recorded", 0.95
	if err := os.MkdirAll(filepath.Dir(p.opt.File), 0o700); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < len(list); from += maxEntries {
		part := list[from:min(from+maxEntries, len(list))]
		kept := store{Version: 1}
		vectors := make([][]float32, len(part))
		for i, c := range part {
			vectors[i], _ = p.opt.Embed(t.Context(), c.one)
			normalise(vectors[i])
			kept.Entries = append(kept.Entries, entry{Scope: Scope{Project: c.one}.key(), Sum: digest(fold(c.one)), Text: c.one, By: p.opt.By, Vector: vectors[i], Answer: "it"})
		}
		data, err := json.Marshal(kept)
		if err == nil {
			err = os.WriteFile(p.opt.File, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		m := p.session()
		for i, c := range part {
			_, ok := m.Find(t.Context(), Scope{Project: c.one}, c.other, false)
			v, _ := p.opt.Embed(t.Context(), c.other)
			normalise(v)
			hit, cosines = append(hit, ok), append(cosines, cosine(v, vectors[i]))
		}
	}
	if len(p.notices) > 0 {
		t.Fatal(p.notices)
	}
	return hit, cosines
}

// TestNearPairs: of 500 pairs of messages that look alike none hits, though by their embeddings alone most would.
func TestNearPairs(t *testing.T) {
	list := nearPairs(near)
	if len(list) != near {
		t.Fatalf("%d pairs", len(list))
	}
	hit, cosines := hits(t, list)
	close, kinds := 0, map[string]int{}
	for i, c := range list {
		kinds[c.kind]++
		if hit[i] {
			t.Errorf("%s: %q hits %q", c.kind, c.other, c.one)
		}
		if cosines[i] >= 0.95 {
			close++
		}
	}
	t.Logf("%d near pairs %v: 0 hits wanted; %d have a cosine of 0.95 or more", near, kinds, close)
	if close < near/2 {
		t.Errorf("only %d pairs are near by their embeddings", close)
	}
}

// TestParaphrases measures how many paraphrases hit. docs/answers.md has the figures.
func TestParaphrases(t *testing.T) {
	list := paraphrases(same)
	if len(list) != same {
		t.Fatalf("%d pairs", len(list))
	}
	hit, cosines := hits(t, list)
	found, of, close := map[string]int{}, map[string]int{}, map[string]int{}
	for i, c := range list {
		of[c.kind]++
		if hit[i] {
			found[c.kind]++
		} else if c.kind == "same words" {
			t.Logf("%q misses %q (%.4f)", c.other, c.one, cosines[i])
		}
		if cosines[i] >= 0.95 {
			close[c.kind]++
		}
	}
	t.Logf("paraphrases %v: hits %v; with a cosine of 0.95 or more %v", of, found, close)
	page, err := os.ReadFile("../docs/answers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"same words", "other words"} {
		if want := fmt.Sprintf("%d of %d in the %s", found[kind], of[kind], kind); !strings.Contains(strings.ReplaceAll(string(page), "\n", " "), want) {
			t.Errorf("docs/answers.md does not say %q", want)
		}
	}
}
