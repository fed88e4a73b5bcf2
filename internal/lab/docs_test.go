package lab

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestPageListsEveryFaultAndProfile(t *testing.T) {
	b, err := os.ReadFile("../../docs/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	says := map[string]string{"fail": "fails", "warn": "warns"}
	for _, f := range Faults {
		row := fmt.Sprintf("| %s | %s | %s %s |\n", f.Name, f.What, f.Check, says[f.Says])
		if !strings.Contains(string(b), row) {
			t.Errorf("docs/lab.md lacks %s", row)
		}
	}
	for _, p := range Profiles {
		if !strings.Contains(string(b), "`"+p.Name+"`") {
			t.Errorf("docs/lab.md lacks the profile %s", p.Name)
		}
	}
}
