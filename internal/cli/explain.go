package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weft/docs"
	"weft/internal/check"
	"weft/internal/report"
)

func (a *app) explain() *cobra.Command {
	return &cobra.Command{
		Use:               "explain [ID]",
		Short:             "Print the page of a check; without ID, list the checks",
		Example:           "  weft explain\n  weft explain roce.gid",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChecks,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listChecks()
			}
			ck, ok := check.ByID(args[0])
			if !ok {
				return fail("weft explain", "no check is called %q", args[0])
			}
			page, err := docs.Checks.ReadFile("checks/" + ck.ID + ".md")
			if err != nil {
				return fail("", "%s has no page: this is a bug in weft", ck.ID)
			}
			if a.json || a.jsonl {
				return report.JSON(a.out, "page", map[string]any{"id": ck.ID, "title": ck.Title, "after": ck.After, "page": string(page)})
			}
			_, err = a.out.Write(page)
			return err
		},
	}
}

func (a *app) listChecks() error {
	type item struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	var items []item
	rows := [][]string{}
	for _, ck := range check.All {
		items = append(items, item{ck.ID, ck.Title})
		rows = append(rows, []string{ck.ID, ck.Title})
	}
	if a.json || a.jsonl {
		return report.JSON(a.out, "checks", map[string]any{"checks": items})
	}
	if err := report.Table(a.out, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "\n%d checks\nnext:\n    weft explain %s\n", len(items), items[0].ID)
	return err
}

// explainShort prints the page up to its fix: the demo shows that there is one.
func (a *app) explainShort(id string) {
	page, _ := docs.Checks.ReadFile("checks/" + id + ".md")
	before, _, _ := strings.Cut(string(page), "\n## Fix")
	fmt.Fprintf(a.out, "%s\n[… and how to mend it, for Debian, Ubuntu, Fedora and RHEL]\n", strings.TrimSpace(before))
}
