package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"codeagent/hostfile"
	"codeagent/model"
)

// Images are stored beside the session, in a folder of its own, each in a file named by its
// SHA-256: a record stays small, and reading back costs the same with images as without.
// The record is written first. After a crash in between, the image is missing, which is
// reported, and there is no unused file.

// imagesSuffix is appended to the session's ID to name that folder.
const imagesSuffix = ".images"

// sums matches the names of images: nothing else becomes a file name.
var sums = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

func (s *Store) imageDir(id string) string { return filepath.Join(s.dir, id+imagesSuffix) }

// imageFile returns the path of an image of a session; id is valid.
func (s *Store) imageFile(id, sum string) (string, error) {
	if !sums().MatchString(sum) {
		return "", fmt.Errorf("an image without a name: %.64q", sum)
	}
	return filepath.Join(s.imageDir(id), sum), nil
}

func (s *Store) keepImages(id string, images []model.Image) error {
	if len(images) == 0 {
		return nil
	}
	dir := s.imageDir(id)
	if err := hostfile.Mkdir(dir, 0o700); err == nil {
		if err := s.sync(); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, i := range images {
		if len(i.Data) == 0 {
			continue // lost earlier
		}
		name, err := s.imageFile(id, i.Sum)
		if err != nil {
			return err
		}
		if info, err := hostfile.Lstat(name); err == nil && info.Size() == int64(len(i.Data)) {
			continue
		}
		err = writeWhole(name, func(f io.Writer) error {
			_, err := f.Write(i.Data)
			return err
		})
		if err != nil {
			return fmt.Errorf("keep an image: %w", err)
		}
	}
	return hostfile.Sync(dir)
}

// image reads an image of a session; nil if it is missing or changed.
func (s *Store) image(id string, i model.Image) []byte {
	name, err := s.imageFile(id, i.Sum)
	if err != nil {
		return nil
	}
	f, err := hostfile.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(model.MaxImages.File)+1))
	if err != nil || len(data) > model.MaxImages.File {
		return nil
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != i.Sum {
		return nil
	}
	return data
}

// showImages reads the last images of items, as many as a request may hold: the others are
// not sent and need no memory.
func (s *Store) showImages(id string, items []model.Item) {
	n, size := 0, 0
	for _, item := range slices.Backward(items) {
		for j := range slices.Backward(item.Images) {
			if n >= model.MaxImages.Shown || size >= model.MaxImages.Bytes {
				return
			}
			item.Images[j].Data = s.image(id, item.Images[j])
			n, size = n+1, size+len(item.Images[j].Data)
		}
	}
}

// forkImages gives the session to the images that the records of v name; a lost image stays lost.
func (s *Store) forkImages(v view, to string) error {
	if _, err := hostfile.Lstat(s.imageDir(v.head.ID)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := hostfile.Mkdir(s.imageDir(to), 0o700); err != nil {
		return err
	}
	b := &backward{r: v.f, start: v.start, pos: v.end}
	for b.next() {
		var r record
		if !bytes.Contains(b.line, []byte(`"images":[`)) || json.Unmarshal(b.line, &r) != nil || r.Item == nil {
			continue
		}
		for i := range r.Item.Images {
			if !s.shareImage(v.head.ID, to, r.Item.Images[i].Sum) {
				r.Item.Images[i].Data = s.image(v.head.ID, r.Item.Images[i])
			}
		}
		if err := s.keepImages(to, r.Item.Images); err != nil {
			return err
		}
	}
	return b.err
}

// shareImage lets a session have the file of another session's image, which never changes. It reports false on a file
// system without hard links.
func (s *Store) shareImage(from, to, sum string) bool {
	theirs, err := s.imageFile(from, sum)
	ours, _ := s.imageFile(to, sum) // of the same name
	if err == nil {
		err = hostfile.Link(theirs, ours)
	}
	return err == nil || errors.Is(err, fs.ErrExist)
}

func (s *Store) removeImages(id string) error { return hostfile.RemoveAll(s.imageDir(id)) }
