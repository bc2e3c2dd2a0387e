package model

import (
	"fmt"
	"strings"
)

// Image is a picture that the person or a tool shows to the model: a PNG, JPEG,
// GIF or WebP file of at most MaxImageBytes. internal/picture makes one of a file.
type Image struct {
	// Name is what the person or the tool calls it: a path, "pasted image".
	Name string `json:"name,omitempty"`
	// MediaType is "image/png", "image/jpeg", "image/gif" or "image/webp".
	MediaType string `json:"media_type"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	// Sum is the SHA-256 of Data, in hex.
	Sum string `json:"sha256"`
	// Data is the file; empty where it was lost. It stands in no record and no
	// event: whoever keeps an image keeps it by its Sum.
	Data []byte `json:"-"`
}

// MaxImageBytes is the largest file: with base64 it stays below the 5 MB that
// providers take. They refuse more, or make it smaller after it was sent each time.
const MaxImageBytes = 3_750_000

// MaxShown is how many images one request holds, and how many bytes they come to. Of
// more, the oldest are no longer shown.
var MaxShown = struct{ Images, Bytes int }{50, 15_000_000}

// String says in a few words which image it is.
func (i Image) String() string {
	kind := strings.ToUpper(strings.TrimPrefix(i.MediaType, "image/"))
	about := fmt.Sprintf("%s, %d×%d", kind, i.Width, i.Height)
	if i.Name == "" {
		return about
	}
	return i.Name + " (" + about + ")"
}

// Tokens estimates what the image costs of the context. Providers count a token
// for some 750 pixels of what they have made smaller, or tiles that come to
// about as much.
func (i Image) Tokens() int {
	const least, most = 85, 1600
	return min(max(i.Width*i.Height/750, least), most)
}
