package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weft/docs"
	"weft/internal/check"
	"weft/internal/report"
	"weft/internal/trial"
)

func (a *app) explain() *cobra.Command {
	return &cobra.Command{
		Use:               "explain [ID]",
		Short:             "Print the page of a check or a trial; without ID, list them",
		Example:           "  weft explain\n  weft explain roce.gid\n  weft explain rdma.write.bw",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChecks,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listPages()
			}
			id := args[0]
			ck, isCheck := check.ByID(id)
			t, isTrial := trial.ByID(id)
			var page []byte
			if isCheck {
				page, _ = docs.Checks.ReadFile("checks/" + id + ".md")
			}
			if isTrial { // gpu.direct is a check and a trial
				own, _ := docs.Trials.ReadFile("trials/" + id + ".md")
				page = append(page, own...)
			}
			switch {
			case !isCheck && !isTrial:
				return fail("weft explain", "no check and no trial is called %q", id)
			case len(page) == 0:
				return fail("", "%s has no page: this is a bug in weft", id)
			case a.json || a.jsonl:
				return report.JSON(a.out, "page", map[string]any{"id": id, "title": cmp.Or(ck.Title, t.Title), "after": ck.After, "page": string(page)})
			}
			_, err := a.out.Write(page)
			return err
		},
	}
}

func (a *app) listPages() error {
	type item struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	var checks, trials []item
	rows := [][]string{}
	for _, ck := range check.All {
		checks = append(checks, item{ck.ID, ck.Title})
		rows = append(rows, []string{ck.ID, ck.Title})
	}
	rows = append(rows, []string{"", ""})
	for _, t := range trial.All {
		trials = append(trials, item{t.ID, t.Title})
		rows = append(rows, []string{t.ID, t.Title})
	}
	if a.json || a.jsonl {
		return report.JSON(a.out, "checks", map[string]any{"checks": checks, "trials": trials})
	}
	if err := report.Table(a.out, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "\n%d checks, %d trials\nnext:\n    weft explain %s\n", len(checks), len(trials), checks[0].ID)
	return err
}

// explainShort prints the page up to its fix: the demo shows that there is one.
func (a *app) explainShort(id string) {
	page, _ := docs.Checks.ReadFile("checks/" + id + ".md")
	before, _, _ := strings.Cut(string(page), "\n## Fix")
	fmt.Fprintf(a.out, "%s\n[… and how to mend it, for Debian, Ubuntu, Fedora and RHEL]\n", strings.TrimSpace(before))
}
