// Package store keeps the patterns of all sessions: it folds their journal into a SQLite database and leaves a snapshot
// for codeagent. It is linked into the side program alone. Its folder, which no command can read or write, has
//
//	journal.jsonl            sessions add to it, under the lock of the folder
//	snapshot.json            codeagent reads it
//	store/taken.jsonl        the journal that is being folded
//	store/db/patterns.db     the database
//	store/damaged-TIME/      a database that could not be read
//
// A journal is taken by a rename, and removed when the transaction with all of it has ended. The database remembers the
// sum of that journal: after a kill it is neither lost nor counted twice.
package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codeagent/hostfile"
	"codeagent/patterns"

	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"
)

// Main is the command `patterns FOLDER [forget=PROJECT]`.
func Main(args []string) int {
	s := Store{Begin: lower}
	switch len(args) {
	case 2:
		s.Forget, s.Begin = strings.TrimPrefix(args[1], patterns.Forget), func() {} // somebody waits
		fallthrough
	case 1:
		s.Dir = args[0]
	}
	if err := s.Fold(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "codeagent-extra: patterns:", err)
		return 1
	}
	return 0
}

// Store is the folder Dir. Forget is a project whose patterns are removed, or "". Begin is called when nobody waits for
// the rest of a fold.
type Store struct {
	Dir, Forget string
	Begin       func()
}

func (s Store) inner(name string) string { return filepath.Join(s.Dir, "store", name) }

// Fold adds the journal to the database, forgets what is old, and writes the snapshot. It waits for another process that
// does the same.
func (s Store) Fold(ctx context.Context) error {
	if err := hostfile.Mkdir(s.inner(""), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	unlock, err := hostfile.Lock(s.inner(""))
	if err != nil {
		return err
	}
	defer unlock()
	taken, err := s.take(ctx)
	if err != nil {
		return err
	}
	s.Begin()
	book, notice, err := s.add(ctx, taken)
	if damaged(err) {
		aside := s.inner("damaged-" + time.Now().UTC().Format("20060102T150405.000"))
		if err = hostfile.Rename(s.inner("db"), aside); err != nil {
			return err
		}
		notice = "what earlier sessions learned could not be read: it was set aside as " + aside
		book, _, err = s.add(ctx, taken)
	}
	if err == nil && s.Forget != "" {
		err = s.removeDamaged()
	}
	if err != nil {
		return err
	}
	if err := hostfile.Write(filepath.Join(s.Dir, patterns.SnapshotFile), book.Encode(time.Now(), notice), 0o600); err != nil {
		return err
	}
	if err := hostfile.Remove(s.inner("taken.jsonl")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// take returns the journal, which sessions add to no more. One that an earlier run took comes first.
func (s Store) take(ctx context.Context) ([]byte, error) {
	unlock, err := hostfile.Lock(s.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	file := s.inner("taken.jsonl")
	if _, err = hostfile.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		err = hostfile.Rename(filepath.Join(s.Dir, patterns.Journal), file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return hostfile.ReadStart(ctx, file, 2*patterns.MaxJournal)
}

// errUnfit is the error of a database that is not ours.
var errUnfit = errors.New("the database is damaged or has another version")

func damaged(err error) bool {
	var of *sqlite.Error
	if errors.As(err, &of) {
		code := of.Code() & 0xff
		return code == sqlitecode.SQLITE_CORRUPT || code == sqlitecode.SQLITE_NOTADB
	}
	return errors.Is(err, errUnfit)
}

// schema has one row a pattern; data is its JSON. What is deleted is overwritten.
const schema = `
CREATE TABLE IF NOT EXISTS pattern (key TEXT PRIMARY KEY, project TEXT, at INTEGER, data TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS folded (sum TEXT);
PRAGMA user_version = 1`

func (s Store) open(ctx context.Context) (*sql.DB, error) {
	if err := hostfile.Mkdir(s.inner("db"), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	file := s.inner("db/patterns.db")
	if info, err := hostfile.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return nil, errUnfit
	}
	name := url.URL{Scheme: "file", Path: file, RawQuery: "_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=synchronous(full)&_pragma=secure_delete(on)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	var version int
	var check string
	if err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&check)
	}
	if err == nil && (version != 0 && version != 1 || check != "ok") {
		err = errUnfit
	}
	if err == nil {
		_, err = db.ExecContext(ctx, schema)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// add adds the journal to the database in one transaction, and returns what is known then.
func (s Store) add(ctx context.Context, journal []byte) (book patterns.Book, notice string, err error) {
	db, err := s.open(ctx)
	if err != nil {
		return nil, "", err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, "", err
	}
	defer tx.Rollback()
	known, sum := 0, fmt.Sprintf("%x", sha256.Sum256(journal))
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM folded WHERE sum = ?", sum).Scan(&known); err != nil {
		return nil, "", err
	}
	if known == 0 {
		for line := range bytes.Lines(journal) {
			var o patterns.Observation
			if json.Unmarshal(line, &o) != nil || o.Step == "" {
				continue // cut by a full disk
			}
			if err := observe(ctx, tx, o); err != nil {
				return nil, "", err
			}
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM folded; INSERT INTO folded VALUES (?)", sum); err != nil {
			return nil, "", err
		}
	}
	oldest := time.Now().Add(-patterns.MaxAge).UnixNano()
	if _, err := tx.ExecContext(ctx, "DELETE FROM pattern WHERE at < ? OR project = ?", oldest, s.Forget); err != nil {
		return nil, "", err
	}
	if book, err = latest(ctx, tx); err != nil {
		return nil, "", err
	}
	return book, "", tx.Commit()
}

// observe adds o to its pattern.
func observe(ctx context.Context, tx *sql.Tx, o patterns.Observation) error {
	key, err := json.Marshal(o.Key)
	if err != nil {
		return err
	}
	var p patterns.Pattern
	var data []byte
	switch err := tx.QueryRowContext(ctx, "SELECT data FROM pattern WHERE key = ?", string(key)).Scan(&data); {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(data, &p); err != nil {
			return errUnfit
		}
	}
	p = p.Add(o)
	if data, err = json.Marshal(p); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO pattern VALUES (?, ?, ?, ?)", string(key), o.Project, p.At.UnixNano(), string(data))
	return err
}

// mostLatest is how many patterns a snapshot can have: each has more bytes than 64.
const mostLatest = patterns.MaxSnapshot / 64

func latest(ctx context.Context, tx *sql.Tx) (patterns.Book, error) {
	rows, err := tx.QueryContext(ctx, "SELECT data FROM pattern ORDER BY at DESC LIMIT ?", mostLatest)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	book := patterns.Book{}
	for rows.Next() {
		var data []byte
		var p patterns.Pattern
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		if json.Unmarshal(data, &p) != nil {
			return nil, errUnfit
		}
		book[p.Key] = p
	}
	return book, rows.Err()
}

// removeDamaged removes what was set aside: it may have what is to be forgotten.
func (s Store) removeDamaged() error {
	list, err := hostfile.ReadDir(s.inner(""), -1)
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "damaged-") {
			err = errors.Join(err, hostfile.RemoveAll(s.inner(e.Name())))
		}
	}
	return err
}
