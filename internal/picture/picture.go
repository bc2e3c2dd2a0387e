// Package picture converts an image file to a model.Image that is complete, that providers
// accept, and that is no larger than useful. It is pure and decodes untrusted data: every
// number in a header is checked before memory or time is spent on it. Start reading at
// Read.
package picture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"codeagent/model"
)

const (
	// MaxFile is the size of the largest accepted file, in bytes.
	MaxFile = 20 << 20
	// maxPixels bounds the decoded pixels: a photo or a large screenshot, at worst 15 bytes
	// per pixel (a progressive JPEG). A header with more is refused before a pixel is
	// decoded.
	maxPixels = 25_000_000
	// maxTime bounds the decoding: in a crafted file each byte can cost a pass over the whole
	// picture.
	maxTime = 10 * time.Second
)

// Formats names the accepted formats, for error messages.
const Formats = "PNG, JPEG, GIF or WebP"

// ErrFormat: the file has none of the Formats.
var ErrFormat = errors.New("an image must be a " + Formats + " file")

// format is one file format.
type format struct {
	mediaType string
	begins    func(head []byte) bool
	config    func(io.Reader) (image.Config, error)
	decode    func(io.Reader) (image.Image, error)
}

// formats are recognised by the beginning of the file; its name does not matter.
var formats = []format{
	{"image/png", prefix("\x89PNG\r\n\x1a\n"), png.DecodeConfig, png.Decode},
	{"image/jpeg", prefix("\xff\xd8\xff"), jpeg.DecodeConfig, jpeg.Decode},
	{"image/gif", prefix("GIF8"), gif.DecodeConfig, gif.Decode},
	{"image/webp", func(head []byte) bool {
		return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
	}, webp.DecodeConfig, webp.Decode},
}

func prefix(p string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(p)) }
}

// Type returns the media type of a file that begins with head, "" if Read does not accept
// it.
func Type(head []byte) string {
	if f := formatOf(head); f != nil {
		return f.mediaType
	}
	return ""
}

func formatOf(head []byte) *format {
	for i := range formats {
		if formats[i].begins(head) {
			return &formats[i]
		}
	}
	return nil
}

// one serialises decoding, so that the bound on memory applies to all pictures together.
var one sync.Mutex

// Read makes an image from a whole file. It scales down an image that exceeds the limits of
// package model, and takes the first picture of a GIF. The error says what is wrong with the
// file, and if possible what to do; it does not name the file. When ctx is done it is the
// context's own.
func Read(ctx context.Context, name string, data []byte) (img model.Image, err error) {
	if len(data) == 0 {
		return model.Image{}, errors.New("the file is empty")
	}
	if len(data) > MaxFile {
		return model.Image{}, TooLarge(int64(len(data)))
	}
	f := formatOf(data)
	if f == nil {
		return model.Image{}, fmt.Errorf("it is %s; %w", guess(data), ErrFormat)
	}
	if f.mediaType == "image/png" {
		data = withoutBroken(data)
	}
	one.Lock()
	defer one.Unlock()
	defer func() {
		// A bug in a decoder must not end the session.
		if p := recover(); p != nil {
			img, err = model.Image{}, damaged(f, errors.New("its decoder gave up"))
		}
	}()
	pixels, err := f.pixels(ctx, data)
	if err != nil {
		return model.Image{}, err
	}
	mediaType, file, size, err := fit(f, data, pixels)
	if err != nil {
		return model.Image{}, err
	}
	sum := sha256.Sum256(file)
	return model.Image{Name: name, MediaType: mediaType, Width: size.X, Height: size.Y, Sum: hex.EncodeToString(sum[:]), Data: file}, nil
}

// withoutBroken returns a PNG file without the chunks that it can be shown without and whose sums are
// wrong. Editors leave them behind, and viewers skip them (PNG, section 13.2); the decoder, and
// providers, refuse the file.
func withoutBroken(data []byte) []byte {
	const signature, frame = 8, 12 // of a chunk: its length, type and sum
	out, rest := data[:signature:signature], data[signature:]
	for len(rest) >= frame {
		size := uint64(binary.BigEndian.Uint32(rest)) + frame
		if size > uint64(len(rest)) {
			break
		}
		chunk := rest[:size]
		needless := chunk[4]&0x20 != 0 // a small first letter
		if body := chunk[4 : size-4]; !needless || crc32.ChecksumIEEE(body) == binary.BigEndian.Uint32(chunk[size-4:]) {
			out = append(out, chunk...)
		}
		rest = rest[size:]
	}
	return append(out, rest...)
}

// TooLarge returns the error for a file of size bytes, which need not be read first.
func TooLarge(size int64) error {
	return fmt.Errorf("it has %d MiB; at most %d MiB are taken: make it smaller first", (size+1<<20-1)>>20, MaxFile>>20)
}

// pixels decodes a whole file: a provider would refuse a truncated one, with each request
// from then on.
func (f *format) pixels(ctx context.Context, data []byte) (image.Image, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errSlow)
	defer cancel()
	c, err := f.config(bytes.NewReader(data))
	if err != nil {
		return nil, damaged(f, err)
	}
	if c.Width <= 0 || c.Height <= 0 {
		return nil, damaged(f, errors.New("it has no size"))
	}
	if int64(c.Width)*int64(c.Height) > maxPixels {
		return nil, fmt.Errorf("it has %d×%d pixels; at most %d million are taken: make it smaller first", c.Width, c.Height, maxPixels/1_000_000)
	}
	m, err := f.decode(&deadlineReader{ctx, bytes.NewReader(data)})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, damaged(f, err)
	}
	// The decoded size must equal the size in the header.
	if s := m.Bounds().Size(); s.X <= 0 || s.Y <= 0 || int64(s.X)*int64(s.Y) > maxPixels {
		return nil, damaged(f, errors.New("its size does not match its header"))
	}
	return m, nil
}

func damaged(f *format, err error) error {
	kind := strings.ToUpper(strings.TrimPrefix(f.mediaType, "image/"))
	return fmt.Errorf("it is a damaged or unusual %s file: %w", kind, err)
}

// errSlow ends the decoding of a file that takes too long.
var errSlow = fmt.Errorf("it takes more than %v to decode, and is refused", maxTime)

// deadlineReader fails when ctx is done.
type deadlineReader struct {
	ctx context.Context
	r   io.Reader
}

func (h *deadlineReader) Read(p []byte) (int, error) {
	if err := h.ctx.Err(); err != nil {
		return 0, err
	}
	// Read small pieces, so that ctx is checked often: a few bytes can take seconds to
	// decode.
	return h.r.Read(p[:min(len(p), 512)])
}

// guess names the likely type of a file that is not an image.
func guess(data []byte) string {
	head := data[:min(len(data), 512)]
	for _, g := range []struct{ what, begin string }{
		{"a BMP file", "BM"}, {"a TIFF file", "II*\x00"}, {"a TIFF file", "MM\x00*"}, {"a PDF file", "%PDF"},
		{"an icon file", "\x00\x00\x01\x00"}, {"a Photoshop file", "8BPS"},
	} {
		if bytes.HasPrefix(head, []byte(g.begin)) {
			return g.what
		}
	}
	switch {
	case len(head) > 12 && string(head[4:8]) == "ftyp":
		return "a HEIC, AVIF or video file"
	case bytes.Contains(bytes.ToLower(head), []byte("<svg")):
		return "an SVG drawing, which is text: read it as a file"
	case bytes.IndexByte(head, 0) < 0:
		return "text"
	}
	return "an unknown format"
}

// maxSide is the longest side of an image, in pixels: the limit of providers for requests with
// many images.
const maxSide = 2000

// quality is the quality of an encoded JPEG: screenshots stay readable.
const quality = 85

// fit returns the file itself if it is within the limits, else one encoded from its pixels. A
// GIF is always encoded again, since providers accept no animations.
func fit(f *format, data []byte, pixels image.Image) (mediaType string, file []byte, size image.Point, err error) {
	size = pixels.Bounds().Size()
	within := max(size.X, size.Y) <= maxSide && len(data) <= model.MaxImages.File
	if within && f.mediaType != "image/gif" {
		return f.mediaType, data, size, nil
	}
	if max(size.X, size.Y) > maxSide {
		pixels = smaller(pixels)
		size = pixels.Bounds().Size()
	}
	if f.mediaType != "image/jpeg" { // PNG keeps lines and letters sharp
		var b bytes.Buffer
		if err := png.Encode(&b, pixels); err != nil {
			return "", nil, size, err
		}
		if b.Len() <= model.MaxImages.File {
			return "image/png", b.Bytes(), size, nil
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, opaque(pixels), &jpeg.Options{Quality: quality}); err != nil {
		return "", nil, size, err
	}
	if b.Len() > model.MaxImages.File {
		return "", nil, size, errors.New("it is too large even when scaled down")
	}
	return "image/jpeg", b.Bytes(), size, nil
}

// smaller scales pixels down to the maximum side length.
func smaller(pixels image.Image) image.Image {
	from := pixels.Bounds()
	w, h := from.Dx(), from.Dy()
	longest := max(w, h)
	to := image.Rect(0, 0, max(1, w*maxSide/longest), max(1, h*maxSide/longest))
	out := image.NewNRGBA(to)
	draw.BiLinear.Scale(out, to, pixels, from, draw.Src, nil)
	return out
}

// opaque returns pixels on white, since JPEG has no transparency.
func opaque(pixels image.Image) image.Image {
	if o, ok := pixels.(interface{ Opaque() bool }); ok && o.Opaque() {
		return pixels
	}
	out := image.NewRGBA(pixels.Bounds())
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, out.Bounds(), pixels, pixels.Bounds().Min, draw.Over)
	return out
}
