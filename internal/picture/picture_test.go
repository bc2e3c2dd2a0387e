package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"codeagent/model"
)

// painted is a picture of w times h pixels; noise makes it hard to compress.
func painted(w, h int, noise bool) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = byte(i / 4)
		if noise {
			m.Pix[i] = byte(r.Uint32())
		}
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return m
}

func pngFile(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegFile(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gifFile(t *testing.T, frames int) []byte {
	t.Helper()
	g := &gif.GIF{}
	for i := range frames {
		p := image.NewPaletted(image.Rect(0, 0, 6, 4), color.Palette{color.Black, color.White})
		p.SetColorIndex(i, 0, 1)
		g.Image, g.Delay = append(g.Image, p), append(g.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// webpFile is one black pixel, lossless.
func webpFile(t *testing.T) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRead: an image within the limits is unchanged, whatever its name; others are converted.
func TestRead(t *testing.T) {
	small := pngFile(t, painted(40, 30, false))
	for _, c := range []struct {
		what, mediaType string
		data            []byte
		width, height   int
		asItIs          bool
	}{
		{"a PNG", "image/png", small, 40, 30, true},
		{"a JPEG", "image/jpeg", jpegFile(t, painted(50, 20, false)), 50, 20, true},
		{"a WebP", "image/webp", webpFile(t), 1, 1, true},
		{"a GIF that moves", "image/png", gifFile(t, 3), 6, 4, false},
		{"a PNG with something behind it", "image/png", append(bytes.Clone(small), "PK\x03\x04 <script>"...), 40, 30, true},
		{"a wide PNG", "image/png", pngFile(t, painted(4096, 100, false)), 2000, 48, false},
		{"a line", "image/png", pngFile(t, painted(3, 5000, false)), 1, 2000, false},
		{"a wide JPEG", "image/jpeg", jpegFile(t, painted(3000, 150, false)), 2000, 100, false},
		{"a PNG of many bytes", "image/jpeg", pngFile(t, painted(1400, 1000, true)), 1400, 1000, false},
	} {
		img, err := Read(t.Context(), "x.txt", c.data)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if img.Name != "x.txt" || img.MediaType != c.mediaType || img.Width != c.width || img.Height != c.height {
			t.Errorf("%s became %v of type %s; want %s, %d×%d", c.what, img, img.MediaType, c.mediaType, c.width, c.height)
		}
		if same := bytes.Equal(img.Data, c.data); same != c.asItIs {
			t.Errorf("%s: left as it is: %v, want %v", c.what, same, c.asItIs)
		}
		if len(img.Data) > model.MaxImages.File {
			t.Errorf("%s has %d bytes, over the bound", c.what, len(img.Data))
		}
		if sum := sha256.Sum256(img.Data); img.Sum != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the sum %s is not that of its data", c.what, img.Sum)
		}
		got, _, err := image.DecodeConfig(bytes.NewReader(img.Data))
		if c.mediaType != "image/webp" && (err != nil || got.Width != img.Width || got.Height != img.Height) {
			t.Errorf("%s: its data say %v, %v", c.what, got, err)
		}
		if Type(img.Data[:16]) != img.MediaType {
			t.Errorf("%s: Type says %q of it", c.what, Type(img.Data[:16]))
		}
	}
}

// TestBrokenProfile: a PNG whose colour profile has a wrong sum is read without the profile, as viewers
// do. The decoder refuses the same file.
func TestBrokenProfile(t *testing.T) {
	whole := pngFile(t, painted(40, 30, false))
	const header = 8 + 12 + 13 // the signature and IHDR
	profile := append(binary.BigEndian.AppendUint32(nil, 3), "iCCPabc\x00\x00\x00\x00"...)
	broken := append(append(bytes.Clone(whole[:header]), profile...), whole[header:]...)
	if _, err := png.Decode(bytes.NewReader(broken)); err == nil {
		t.Fatal("the decoder takes it")
	}
	img, err := Read(t.Context(), "x.png", broken)
	if err != nil || !bytes.Equal(img.Data, whole) {
		t.Errorf("%v, %v", img, err)
	}
}

// TestTransparent: transparent pixels become white in a JPEG, not black.
func TestTransparent(t *testing.T) {
	m := opaque(image.NewNRGBA(image.Rect(0, 0, 2, 2)))
	if r, g, b, _ := m.At(1, 1).RGBA(); r != 0xffff || g != 0xffff || b != 0xffff {
		t.Errorf("transparent became %v", m.At(1, 1))
	}
}

// bomb returns a PNG whose header announces w times h pixels, with no pixel data.
func bomb(w, h uint32) []byte {
	ihdr := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)...)
	ihdr = append(ihdr, 8, 6, 0, 0, 0)
	b := []byte("\x89PNG\r\n\x1a\n")
	b = binary.BigEndian.AppendUint32(b, uint32(len(ihdr)-4))
	b = append(b, ihdr...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(ihdr))
}

// TestRefused: files that are not images, or not of the announced type or size.
func TestRefused(t *testing.T) {
	whole := pngFile(t, painted(40, 30, true))
	jpg := jpegFile(t, painted(64, 64, true))
	hugeGIF := gifFile(t, 1)
	copy(hugeGIF[6:], "\xff\xff\xff\xff") // the screen size in its header
	hugeJPEG := bytes.Clone(jpg)
	at := bytes.Index(hugeJPEG, []byte{0xff, 0xc0})
	copy(hugeJPEG[at+5:], "\xff\xff\xff\xff")
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"nothing", nil, "empty"},
		{"a text", []byte("hello\n"), "it is text; an image must be a PNG, JPEG, GIF or WebP file"},
		{"a drawing", []byte("<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), "SVG"},
		{"a HEIC", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"), "HEIC"},
		{"a PDF", []byte("%PDF-1.7\n\x00"), "PDF"},
		{"bytes", []byte("\x00\x01\x02\x03"), "an unknown format"},
		{"a signature alone", []byte("\x89PNG\r\n\x1a\n"), "damaged"},
		{"a PNG cut short", whole[:len(whole)/2], "damaged"},
		{"a JPEG cut short", jpg[:len(jpg)/2], "damaged"},
		{"a WebP cut short", webpFile(t)[:24], "damaged"},
		{"a PNG with a broken sum", append(bytes.Clone(whole[:60]), append([]byte{whole[60] ^ 1}, whole[61:]...)...), "damaged"},
		{"a PNG of no width", bomb(0, 10), "damaged"},
		{"a bomb", bomb(50_000, 50_000), "50000×50000 pixels"},
		{"a bomb of one line", bomb(1<<31-1, 1), "pixels"},
		{"a bomb beyond all numbers", bomb(1<<32-1, 1<<32-1), "damaged"},
		{"a GIF bomb", hugeGIF, "65535×65535 pixels"},
		{"a JPEG bomb", hugeJPEG, "65535×65535 pixels"},
		{"too many bytes", append(bytes.Clone(whole), make([]byte, MaxFile)...), "MiB"},
	} {
		img, err := Read(t.Context(), "x.png", c.data)
		if err == nil {
			t.Errorf("%s was taken as %v", c.what, img)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q does not say %q", c.what, err, c.want)
		}
	}
}

// FuzzRead: no file leads beyond the limits.
func FuzzRead(f *testing.F) {
	for _, seed := range [][]byte{bomb(2, 2), bomb(1<<16, 1<<16), []byte("GIF89a\x01\x00\x01\x00"), []byte("\xff\xd8\xff\xe0"), []byte("RIFF\x1a\x00\x00\x00WEBPVP8L")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := Read(t.Context(), "", data)
		if err != nil {
			return
		}
		if len(img.Data) > model.MaxImages.File || max(img.Width, img.Height) > maxSide || min(img.Width, img.Height) < 1 {
			t.Errorf("%v with %d bytes", img, len(img.Data))
		}
	})
}
