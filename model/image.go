package model

import (
	"fmt"
	"strings"
)

// Image is a picture that the person or a tool shows to the model: a PNG, JPEG, GIF or WebP
// file of at most MaxImages.File bytes. internal/picture makes an Image from a file.
type Image struct {
	// Name is the person's or tool's name for it: a path, or "pasted image".
	Name string `json:"name,omitempty"`
	// MediaType is "image/png", "image/jpeg", "image/gif" or "image/webp".
	MediaType string `json:"media_type"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	// Sum is the SHA-256 of Data, in hex.
	Sum string `json:"sha256"`
	// Data is the file's content; empty if it was lost. Records and events do not contain
	// it: images are stored by their Sum.
	Data []byte `json:"-"`
}

// MaxImages bounds images. File is the largest file, in bytes: with base64 it stays below the
// 5 MB that providers accept; they refuse larger files, or scale them down on every request. Shown
// is how many one request may hold, and Bytes their total size: beyond that the oldest are left out.
var MaxImages = struct{ File, Shown, Bytes int }{3_750_000, 50, 15_000_000}

// String describes the image in a few words.
func (i Image) String() string {
	kind := strings.ToUpper(strings.TrimPrefix(i.MediaType, "image/"))
	about := fmt.Sprintf("%s, %d×%d", kind, i.Width, i.Height)
	if i.Name == "" {
		return about
	}
	return i.Name + " (" + about + ")"
}

// Tokens estimates the tokens that the image costs. Providers count one token per about 750
// pixels after scaling it down, or tiles that amount to about the same.
func (i Image) Tokens() int {
	const least, most = 85, 1600
	return min(max(i.Width*i.Height/750, least), most)
}
