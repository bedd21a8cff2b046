// The Go team's own transparency log code (golang.org/x/mod/sumdb) as a client of a registry: it opens
// the signed checkpoint, reads tiles, and proves every version and the way from an older checkpoint.
//
//	tlog URL VKEY OLD-NOTE
//
// URL is http://host:port/registry/tlog; OLD-NOTE a file with an earlier checkpoint. Built without
// modules, from Debian's golang-golang-x-mod-dev.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

func fetch(url string) ([]byte, error) {
	response, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return body, err
}

// openTree verifies the note and takes size and root from its first three lines; the package's own
// ParseTree knows the checksum database's format only.
func openTree(message []byte, vkey string) (tlog.Tree, error) {
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return tlog.Tree{}, err
	}
	opened, err := note.Open(message, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.SplitN(opened.Text, "\n", 4)
	if len(lines) != 4 || lines[0] != verifier.Name() {
		return tlog.Tree{}, fmt.Errorf("the checkpoint is of %q", lines[0])
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, err
}

// A tile's path without its height, which tlog-tiles fixes at 8.
func pathOf(tile tlog.Tile) string {
	return strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
}

type tiles struct{ url string }

func (t tiles) Height() int                     { return height }
func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range wanted {
		data, err := fetch(t.url + "/" + pathOf(tile))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

// The entries of a bundle.
func entriesOf(data []byte) ([][]byte, error) {
	var all [][]byte
	for len(data) > 0 {
		if len(data) < 2 || len(data) < 2+int(binary.BigEndian.Uint16(data)) {
			return nil, fmt.Errorf("a bundle ends early")
		}
		end := 2 + int(binary.BigEndian.Uint16(data))
		all = append(all, data[2:end])
		data = data[end:]
	}
	return all, nil
}

func checkRecords(url string, tree tlog.Tree, reader tlog.HashReader) error {
	for first := int64(0); first < tree.N; first += 1 << height {
		width := tree.N - first
		if width > 1<<height {
			width = 1 << height
		}
		bundle := tlog.Tile{H: height, L: -1, N: first >> height, W: int(width)}
		data, err := fetch(url + "/" + strings.Replace(pathOf(bundle), "/data/", "/entries/", 1))
		if err != nil {
			return err
		}
		entries, err := entriesOf(data)
		if err != nil {
			return err
		}
		if int64(len(entries)) != width {
			return fmt.Errorf("a bundle holds %d entries instead of %d", len(entries), width)
		}
		for i, entry := range entries {
			index := first + int64(i)
			proof, err := tlog.ProveRecord(tree.N, index, reader)
			if err != nil {
				return err
			}
			err = tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(entry))
			if err != nil {
				return fmt.Errorf("version %d: %v", index, err)
			}
		}
	}
	return nil
}

func run(url, vkey, oldPath string) error {
	message, err := fetch(url + "/checkpoint")
	if err != nil {
		return err
	}
	tree, err := openTree(message, vkey)
	if err != nil {
		return err
	}
	oldMessage, err := os.ReadFile(oldPath)
	if err != nil {
		return err
	}
	old, err := openTree(oldMessage, vkey)
	if err != nil {
		return fmt.Errorf("the old checkpoint: %v", err)
	}
	if old.N > tree.N {
		return fmt.Errorf("the log was rolled back from %d to %d versions", old.N, tree.N)
	}
	reader := tlog.TileHashReader(tree, tiles{url})
	if err := checkRecords(url, tree, reader); err != nil {
		return err
	}
	proof, err := tlog.ProveTree(tree.N, old.N, reader)
	if err != nil {
		return err
	}
	if err := tlog.CheckTree(proof, tree.N, tree.Hash, old.N, old.Hash); err != nil {
		return fmt.Errorf("not consistent with the old checkpoint: %v", err)
	}
	fmt.Printf("ok: %d versions, consistent with %d\n", tree.N, old.N)
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: tlog URL VKEY OLD-NOTE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(1)
	}
}
