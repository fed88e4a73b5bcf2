package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"weft/internal/report"
	"weft/internal/store"
	"weft/internal/term"
	"weft/internal/trial"
)

// diffProofs compares two proofs. done is false when the first is none: then they are dumps.
func (a *app) diffProofs(was, now string) (done bool, err error) {
	if _, _, folder, err := a.spec(nil); err == nil { // dumps need no weft.yaml
		a.folder = folder
	}
	if !a.isProof(was) {
		return false, nil
	}
	var both [2]*trial.Proof
	for i, name := range []string{was, now} {
		if both[i], err = a.proofNamed(name); err != nil {
			return false, fail("weft diff --help", "%s: %v", name, err)
		}
	}
	r := report.ProofDiff{Was: both[0].ID, Now: both[1].ID, Changes: trial.Compare(*both[0], *both[1])}
	if report.Fell(r.Changes) {
		a.code = exitNo
	}
	if a.json || a.jsonl {
		return true, report.JSON(a.out, "proof diff", r)
	}
	return true, r.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
}

// isProof tells a proof from a dump: by its name in .weft, or by how the file begins.
func (a *app) isProof(name string) bool {
	if _, ok := store.At(a.folder).Proof(name); ok || name == "last" {
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 200)
	n, _ := io.ReadFull(f, head)
	return bytes.HasPrefix(bytes.TrimSpace(head[:n]), []byte("{")) && bytes.Contains(head[:n], []byte(fmt.Sprintf("%q", "proof")))
}
