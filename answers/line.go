package answers

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// The file is a header and a line for each answer, the oldest first. Only the JSON of a hit is decoded:
//
//	scope TAB digest of the folded message TAB nanoseconds TAB "message" TAB "embedding model" TAB base64 of float32 TAB JSON

const header = "codeagent answers 1\n"

// entry is one answer in the file.
type entry struct {
	scope, sum, text, by string
	at                   time.Time
	vector               []float32
	body                 string // JSON of a body
}

// body is what was answered, and read for it.
type body struct {
	Answer string `json:"answer"`
	Reads  []read `json:"reads,omitempty"`
}

func (e entry) line() string {
	stored, _ := binary.Append(nil, binary.LittleEndian, e.vector) // of numbers
	return strings.Join([]string{e.scope, e.sum, strconv.FormatInt(e.at.UnixNano(), 10), strconv.Quote(e.text), strconv.Quote(e.by), base64.StdEncoding.EncodeToString(stored), e.body}, "\t") + "\n"
}

var errDamaged = errors.New("the file is damaged, or of another version")

// parse reads a file.
func parse(data string) (out []entry, err error) {
	data, ok := strings.CutPrefix(data, header)
	if !ok {
		return nil, errDamaged
	}
	for text := range strings.Lines(data) {
		text, ended := strings.CutSuffix(text, "\n")
		f := strings.SplitN(text, "\t", 7)
		if !ended || len(f) != 7 || len(out) == maxEntries || !strings.HasSuffix(text, "}") {
			return nil, errDamaged
		}
		at, e1 := strconv.ParseInt(f[2], 10, 64)
		said, e2 := strconv.Unquote(f[3])
		by, e3 := strconv.Unquote(f[4])
		stored, e4 := base64.StdEncoding.DecodeString(f[5])
		if errors.Join(e1, e2, e3, e4) != nil {
			return nil, errDamaged
		}
		e := entry{scope: f[0], sum: f[1], text: said, by: by, at: time.Unix(0, at), vector: make([]float32, len(stored)/4), body: f[6]}
		for i := range e.vector {
			e.vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(stored[4*i:]))
		}
		out = append(out, e)
	}
	return out, nil
}
