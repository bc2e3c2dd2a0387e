package model

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestImageTokens(t *testing.T) {
	for _, c := range []struct{ w, h, want int }{{1, 1, 85}, {750, 400, 400}, {1000, 1000, 1333}, {2000, 2000, 1600}} {
		if got := (Image{Width: c.w, Height: c.h}).Tokens(); got != c.want {
			t.Errorf("%d×%d pixels are %d tokens, want %d", c.w, c.h, got, c.want)
		}
	}
}

// TestImageInRecords: no JSON of an item contains the data of its image.
func TestImageInRecords(t *testing.T) {
	out, err := json.Marshal(Item{Kind: User, Images: []Image{{Name: "a.png", MediaType: "image/png", Width: 4, Height: 3, Sum: "00", Data: []byte("DATA")}}})
	want := `{"kind":"user","images":[{"name":"a.png","media_type":"image/png","width":4,"height":3,"sha256":"00"}]}`
	if err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	if got := (Image{MediaType: "image/webp", Width: 4, Height: 3}).String(); got != "WEBP, 4×3" {
		t.Error(got)
	}
	if strings.Contains(Image{Name: "a", MediaType: "image/png", Data: []byte("DATA")}.String(), "DATA") {
		t.Error("the words about an image hold its data")
	}
}
