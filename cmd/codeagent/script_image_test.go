package main

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"strconv"
	"strings"

	"codeagent/internal/scripted"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptImage makes a PNG file: image FILE WIDTH HEIGHT.
func scriptImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: image FILE WIDTH HEIGHT")
	}
	w, err := strconv.Atoi(args[1])
	ts.Check(err)
	h, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(writePNG(ts.MkAbs(args[0]), w, h))
}

// writePNG makes a PNG file of w times h pixels.
func writePNG(name string, w, h int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, image.NewGray(image.Rect(0, 0, w, h))), f.Close())
}

// said returns a conversation as text, one message per line; an image is "<image/png>".
func said(r scripted.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s: %s", m.Role, strings.ReplaceAll(m.Text, "\n", " "))
		for _, i := range m.Images {
			fmt.Fprintf(&b, " <%s>", i)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
