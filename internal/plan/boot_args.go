package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/cmdline"
	"weft/internal/fact"
	"weft/internal/unit"
)

func mendIOMMU(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	arg := "iommu=pt"
	if n.Host.Arch == "aarch64" {
		arg = "iommu.passthrough=1"
	}
	s := Step{What: "iommu", From: n.Settings.IOMMUType, To: "identity"}
	if strings.Contains(f.Why, "Strix Halo") {
		s.Note = f.Why
	}
	return d.bootArgs(n, s, cmdline.Change{Add: []string{arg}, Drop: []string{"iommu=nopt", "iommu.passthrough=0", "iommu.passthrough=off"}})
}

// pagesLimit finds what the check worked out.
var pagesLimit = regexp.MustCompile(`ttm\.pages_limit=([0-9]+) `)

func mendGTT(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	m := pagesLimit.FindStringSubmatch(strings.Join(f.Fix, "\n"))
	if m == nil {
		return byHand("no setting helps: the machine has too little memory")
	}
	pages, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return err
	}
	s := Step{What: "gtt", From: gttWords(n, nil), To: gttWords(n, &pages)}
	return d.bootArgs(n, s, cmdline.Change{
		Add:  []string{"ttm.pages_limit=" + m[1], "ttm.page_pool_size=" + m[1]},
		Drop: []string{"ttm.pages_limit=*", "ttm.page_pool_size=*", "amdgpu.gttsize=*", "amdttm.pages_limit=*", "amdttm.page_pool_size=*"},
	})
}

// gttWords is how much memory the GPUs of a node may map: the kernel's limit in pages, and
// what each AMD GPU has of it in bytes; with a limit, as it will be then.
func gttWords(n *fact.Node, limit *int64) string {
	pages := n.Settings.TTMPages
	if limit != nil {
		pages = fact.Some(*limit)
	}
	words := "pages unknown"
	if v, ok := pages.Get(); ok {
		words = fmt.Sprintf("pages %d", v)
	}
	for _, g := range n.GPUs {
		if g.Vendor != "AMD" {
			continue
		}
		size := g.GTT
		if limit != nil {
			size = fact.Some(unit.Size(*limit) * 4 * unit.KiB) // amdgpu takes all that ttm allows
		}
		if v, ok := size.Get(); ok {
			words += fmt.Sprintf("; gpu%d %d", g.Index, int64(v))
		} else {
			words += fmt.Sprintf("; gpu%d unknown", g.Index)
		}
	}
	return words
}
