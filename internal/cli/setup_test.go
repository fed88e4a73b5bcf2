package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/intent"
	"weft/internal/plan"
)

// TestSetupPageIsTrue holds docs/setup.md against the code: its commands can be typed,
// its flags are those of init, and each step that it says plan makes has a remedy.
func TestSetupPageIsTrue(t *testing.T) {
	b, err := os.ReadFile("../../docs/setup.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	commands, rows := 0, 0
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if words, ok := strings.CutPrefix(line, "    weft "); ok {
			commands++
			typed(t, strings.Fields(words))
		}
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") || cells[3] == " by " {
			continue
		}
		id, by := strings.Trim(cells[2], " `"), strings.TrimSpace(cells[3])
		if strings.HasPrefix(strings.TrimSpace(cells[1]), "`--") || strings.TrimSpace(cells[1]) == "flag" {
			continue // of the table of flags
		}
		rows++
		mends := slices.ContainsFunc(plan.Remedies, func(r plan.Remedy) bool { return r.Check == id })
		_, known := check.ByID(id)
		switch {
		case id == "" && by != "init" || id != "" && !known:
			t.Errorf("%s: no check %q", line, id)
		case by == "plan" && !mends:
			t.Errorf("%s: plan has no remedy for %s", line, id)
		case !slices.Contains([]string{"init", "check", "plan", "you"}, by):
			t.Errorf("%s: %q does nothing", line, by)
		}
	}
	if commands < 15 || rows < 50 {
		t.Errorf("found only %d commands and %d steps", commands, rows)
	}
	for _, flag := range []string{"subnet", "port", "layer", "mtu", "ipoib", "switch", "purpose"} {
		if !strings.Contains(page, "| `--"+flag+" ") {
			t.Errorf("--%s is not in the table of flags", flag)
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([a-z.-]+)\)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat("../../docs/" + m[1]); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
}

// typed wants a command line to be one that weft takes.
func typed(t *testing.T, words []string) {
	t.Helper()
	root := Root()
	cmd, args, err := root.Find(words)
	if err == nil {
		err = cmd.ParseFlags(args)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("weft %s: %v", strings.Join(words, " "), err)
		return
	}
	if cmd.Name() != "init" {
		return
	}
	if _, _, err := asksOf(cmd.Flags().Args()); err != nil {
		t.Errorf("weft %s: %v", strings.Join(words, " "), err)
	}
	value := func(name string) string { return strings.Trim(cmd.Flag(name).Value.String(), "[]") }
	given := intent.Given{Layer: value("layer"), MTU: value("mtu"), IPoIB: value("ipoib"), Switch: value("switch"), Purpose: value("purpose")}
	if nets := value("subnet"); nets != "" {
		given.Subnets = strings.Split(nets, ",")
	}
	if _, err := intent.Parse(given); err != nil {
		t.Errorf("weft %s: %v", strings.Join(words, " "), err)
	}
}
