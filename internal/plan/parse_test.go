package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weft/internal/check"
)

func word(s string) *string { return &s }

// odd is a plan with everything that a plan can hold, and texts that are hard to keep.
func odd() Plan {
	facts := map[string]string{"net/rail0/mtu": "1500", "a.b[0]": "<&>\u2028\u0000"}
	return Plan{
		ID: "20261115-093412", Source: "weft.yaml",
		Nodes: []Node{{Name: "n1", Facts: facts, Hash: hash(facts)}, {Name: "n2", Facts: facts, Hash: hash(facts)}},
		Steps: []Step{
			{Node: "n1", What: "net/rail0/mtu", From: "1500", To: "9000", Do: []string{"ip link set dev rail0 mtu 9000 >/dev/null && true"}, Undo: []string{"ip link set dev rail0 mtu 1500"},
				Shows: "cat /sys/class/net/rail0/mtu", Risk: RiskLink, Then: []string{"roce.mtu"}, Note: "é\u202e\x1b",
				Files: []File{{Path: "/etc/netplan/50-weft.yaml", New: word("a: b\n"), Mode: 0o600}}},
			{Node: "n1", What: "file/x", From: "a", To: "b", When: Boot, Risk: RiskBoot, Keeps: []string{"/boot/grub/grub.cfg"}, Lasts: true, Seconds: 600, Then: []string{"node.iommu", "node.gtt"},
				Files: []File{{Path: "/etc/netplan/50-weft.yaml", Old: word("a: b\n"), New: word("\xff\x00not text")}, {Path: "/etc/empty", Old: word("")}, {Path: "/etc/l", New: word("../x"), Link: true}}},
			{Node: "n2", What: "net/rail0/mtu", From: "1500", To: "9000", When: Login, Do: []string{"a"}, Undo: []string{"b"}, Then: []string{"roce.mtu"}},
		},
		Hand:  []Hand{{Check: "port.up", What: "down", Do: []string{"plug the cable"}}, {Node: "n3", Part: "mlx5_0/1", Check: "node.read", What: "no answer", Why: "nobody knows"}},
		After: map[string]int{"pass": 3, "fail": 1},
	}
}

func TestPlansSurviveTheFile(t *testing.T) {
	plans := map[string]Plan{"odd": odd(), "empty": {ID: "1"}}
	for _, x := range tries {
		c := x.broken()
		p := Make(c, x.broken(), check.All, check.Run(check.All, c))
		p.ID = "1"
		plans[x.remedy+" "+x.name] = p
	}
	for name, p := range plans {
		b, err := Format(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := Parse(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(p, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		again, err := Format(got)
		if err != nil || string(again) != string(b) {
			t.Errorf("%s: written again it differs, %v", name, err)
		}
	}
}

// TestWrongPlans: each is the odd plan with one text replaced.
func TestWrongPlans(t *testing.T) {
	b, err := Format(odd())
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	for name, c := range map[string]struct{ old, new, want string }{
		"not JSON":                     {`"plan",`, `"plan"`, `4:3: invalid character '"' after object key:value pair`},
		"cut short":                    {good[200:], "", "unexpected end of JSON input"},
		"trailing data":                {"\n}\n", "\n}\n{}", "1: invalid character '{' after top-level value"},
		"nothing":                      {good, "", "1:1: unexpected end of JSON input"},
		"a list":                       {good, "[]", "1:1: a plan: want an object"},
		"not UTF-8":                    {"weft.yaml", "\xff", "5:14: not UTF-8"},
		"another kind":                 {`"plan"`, `"check"`, `3:11: kind: "check" is not a plan`},
		"a later schema":               {`"schema": 1`, `"schema": 2`, "2:13: schema: 2 is not known to this weft, which writes 1"},
		"no schema":                    {`"schema": 1,`, ``, "1:1: schema is missing"},
		"an unknown field":             {`"source"`, `"sauce"`, `5:3: a plan: unknown field "sauce"`},
		"a field in capitals":          {`"source"`, `"Source"`, `5:3: a plan: unknown field "Source"`},
		"a field twice":                {`"source"`, `"id": "x", "source"`, "id is there twice"},
		"a fact twice":                 {`"net/rail0/mtu": "1500"`, `"net/rail0/mtu": "1500", "net/rail0/mtu": "1501"`, "nodes[0].facts.net/rail0/mtu is there twice"},
		"an unknown field of a step":   {`"from"`, `"form"`, `steps[0]: unknown field "form"`},
		"a missing field of a step":    {`"from": "1500",`, "", "steps[0].from is missing"},
		"a missing field of a file":    {`"old": null,`, "", "steps[0].files[0].old is missing"},
		"null for a text":              {`"from": "1500"`, `"from": null`, "steps[0].from: want a text"},
		"null for a list":              {`"undo": [`, `"undo": null, "keeps": [`, "steps[0].undo: want a list"},
		"a number for a text":          {`"from": "1500"`, `"from": 1500`, "steps[0].from: want a text"},
		"a text for a number":          {`"pass": 3`, `"pass": "3"`, "after.pass: want a whole number"},
		"a fraction":                   {`"pass": 3`, `"pass": 3.5`, "after.pass: want a whole number"},
		"less than nothing":            {`"pass": 3`, `"pass": -3`, "after.pass: want a whole number"},
		"a text for yes":               {`"lasts": true`, `"lasts": "true"`, "steps[1].lasts: want true or false"},
		"an object for a list":         {`"hand": [`, `"hand": {}, "given": [`, "hand: want a list"},
		"facts that were changed":      {`"net/rail0/mtu": "1500"`, `"net/rail0/mtu": "1400"`, "nodes[0]: the facts of n1 were changed after the plan was made"},
		"a node twice":                 {`"name": "n2"`, `"name": "n1"`, "nodes[1]: n1 is there twice"},
		"an odd node":                  {`"name": "n2"`, `"name": "-o x"`, `nodes[1]: "-o x" is no name of a node`},
		"a step of another node":       {`"node": "n2"`, `"node": "n9"`, `steps[2]: node "n9" is not among the nodes`},
		"a step twice":                 {`"node": "n2"`, `"node": "n1"`, "steps[2]: net/rail0/mtu of n1 is there twice"},
		"nothing is changed":           {`"what": "file/x"`, `"what": ""`, "steps[1]: a step that does not say what it changes"},
		"a relative path":              {`"/etc/empty"`, `"etc/empty"`, `steps[1].files[1]: "etc/empty" is not a plain absolute path`},
		"a path with ..":               {`"/etc/empty"`, `"/etc/../x"`, `"/etc/../x" is not a plain absolute path`},
		"a path with NUL":              {`"/etc/empty"`, `"/etc/\u0000"`, `"/etc/\x00" is not a plain absolute path`},
		"a path with a newline":        {`"/etc/empty"`, `"/etc/\n"`, `"/etc/\n" is not a plain absolute path`},
		"a folder":                     {`"/etc/empty"`, `"/etc/"`, `"/etc/" is not a plain absolute path`},
		"the root":                     {`"/etc/empty"`, `"/"`, `"/" is not a plain absolute path`},
		"a relative path that is kept": {`"/boot/grub/grub.cfg"`, `"grub.cfg"`, `steps[1].keeps[0]: "grub.cfg" is not a plain absolute path`},
		"a file twice":                 {`"/etc/empty"`, `"/etc/l"`, "steps[1].files[2]: /etc/l is there twice"},
		"a file that does not change":  {`"old": "",`, `"old": null,`, "steps[1].files[1]: /etc/empty does not change"},
		"a mode":                       {`"mode": 384`, `"mode": 65535`, "steps[0].files[0]: 177777 is not a mode"},
		"a link to nowhere":            {`"../x"`, `""`, "steps[1].files[2]: /etc/l: no target of a symbolic link"},
		"a file from nowhere":          {`"new": "a: b\n"`, `"new": "a: c\n"`, "steps[1].files[0]: /etc/netplan/50-weft.yaml is not as the step before leaves it"},
		"not base64":                   {`"new": "/wBub3QgdGV4dA=="`, `"new": "!"`, "file /etc/netplan/50-weft.yaml: illegal base64"},
		"a risk":                       {`"risk": "link"`, `"risk": "fire"`, `steps[0].risk: there is no risk "fire"`},
		"a time":                       {`"when": "login"`, `"when": "tomorrow"`, `steps[2].when: there is no time "tomorrow"`},
		"a day":                        {`"seconds": 600`, `"seconds": 86400`, "steps[1].seconds: more than 3600"},
		"no undo":                      {"\"undo\": [\n        \"b\"\n      ],", "", "steps[2]: no undo"},
		"a command with NUL":           {`"cat /sys`, `"cat \u0000`, "steps[0]: a command with a NUL character"},
		"a status":                     {`"pass": 3`, `"passed": 3`, `after.passed: no finding is "passed"`},
		"an ID that is a path":         {`"20261115-093412"`, `"../x"`, `4:9: id: "../x" is no name of a plan`},
		"a hand without a check":       {`"check": "port.up"`, `"check": ""`, "hand[0]: want a check and what is wrong"},
		"a hand for an odd node":       {`"node": "n3"`, `"node": "n 3"`, `hand[1]: "n 3" is no name of a node`},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Errorf("%s: %q is not in\n%s", name, c.old, good)
		}
		_, err := Parse([]byte(text))
		var at *Error
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case !errors.As(err, &at) || at.Line < 1 || at.Column < 1:
			t.Errorf("%s: %v has no place", name, err)
		}
	}
}

func TestPlacesAreRight(t *testing.T) {
	b, _ := Format(odd())
	text := strings.Replace(string(b), `"risk": "link"`, `"risk": "fire"`, 1)
	_, err := Parse([]byte(text))
	var at *Error
	if !errors.As(err, &at) {
		t.Fatal(err)
	}
	line := strings.Split(text, "\n")[at.Line-1]
	if got := line[at.Column-1:]; got != `"fire",` {
		t.Errorf("%v points at %q", err, got)
	}
}

func TestHugePlansAreRefused(t *testing.T) {
	p := odd()
	p.Steps[0].Note = strings.Repeat("x", MaxBytes)
	if _, err := Format(p); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("written: %v", err)
	}
	if _, err := Parse(make([]byte, MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("read: %v", err)
	}
}

func TestWhatJSONWouldChangeIsRefused(t *testing.T) {
	for name, change := range map[string]func(p *Plan){
		"steps[0].do[0]": func(p *Plan) { p.Steps[0].Do[0] = "\xff" },
		"nodes[0].facts": func(p *Plan) { p.Nodes[0].Facts["\xff"] = "" },
		"files[1].path":  func(p *Plan) { p.Steps[1].Files[1].Path = "/\xff" },
	} {
		p := odd()
		change(&p)
		if _, err := Format(p); err == nil || !strings.Contains(err.Error(), name+` "`) && !strings.Contains(err.Error(), name+` `) || !strings.Contains(err.Error(), "is not UTF-8") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzParse: whatever is read is written and read again as the same.
func FuzzParse(f *testing.F) {
	b, err := Format(odd())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	b, _ = Format(Plan{ID: "1"})
	f.Add(b)
	f.Add([]byte(`{"schema":1,"kind":"plan","id":"1","source":"","nodes":[],"steps":[{"node":"\ud800"}],"hand":[],"after":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.Line < 1 || at.Column < 1 {
				t.Fatalf("%v has no place", err)
			}
			return
		}
		again, err := Format(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Parse(again)
		if err != nil || !cmp.Equal(p, q, cmpopts.EquateEmpty()) {
			t.Fatalf("%v: %s", err, cmp.Diff(p, q))
		}
	})
}

// FuzzTexts: the texts of files and commands come back byte for byte, or are refused.
func FuzzTexts(f *testing.F) {
	f.Add("a", "b", "c")
	f.Add("\xff", "", "\u2028")
	f.Add("", "\ufffd\x00", "\xff")
	f.Fuzz(func(t *testing.T, old, new, do string) {
		p := Plan{ID: "1", Nodes: []Node{{Name: "n", Hash: hash(nil)}}, After: map[string]int{},
			Steps: []Step{{Node: "n", What: "x", Do: []string{do}, Undo: []string{do}, Files: []File{{Path: "/x", Old: &old, New: &new}}}}}
		b, err := Format(p)
		if err != nil {
			if !strings.Contains(err.Error(), "not UTF-8") {
				t.Fatal(err)
			}
			return
		}
		q, err := Parse(b)
		if err != nil {
			if old != new && !strings.Contains(do, "\x00") {
				t.Fatal(err)
			}
			return
		}
		if s := q.Steps[0]; s.Do[0] != do || *s.Files[0].Old != old || *s.Files[0].New != new {
			t.Fatalf("%q %q %q became %+v", old, new, do, s)
		}
	})
}
