package picture

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"

	"codeagent/model"
)

// maxSide is the longest side of an image, in pixels: the limit of providers for requests with
// many images.
const maxSide = 2000

// quality is the quality of an encoded JPEG: screenshots stay readable.
const quality = 85

// fit returns the file itself if it is within the limits, else one encoded from its pixels. A
// GIF is always encoded again, since providers accept no animations.
func fit(f *format, data []byte, pixels image.Image) (mediaType string, file []byte, size image.Point, err error) {
	size = pixels.Bounds().Size()
	within := max(size.X, size.Y) <= maxSide && len(data) <= model.MaxImageBytes
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
		if b.Len() <= model.MaxImageBytes {
			return "image/png", b.Bytes(), size, nil
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, opaque(pixels), &jpeg.Options{Quality: quality}); err != nil {
		return "", nil, size, err
	}
	if b.Len() > model.MaxImageBytes {
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
