package report

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/plan"
)

func text(s string) *string { return &s }

func mtuStep(node string) plan.Step {
	return plan.Step{Node: node, What: "net/rail0/mtu", From: "1500", To: "9000", Risk: plan.RiskLink, Then: []string{"roce.mtu"},
		Do: []string{"ip link set dev rail0 mtu 9000"}, Undo: []string{"ip link set dev rail0 mtu 1500"},
		Files: []plan.File{{Path: "/etc/systemd/network/50-rail0.network", Old: text("[Match]\nName=rail0\n\n[Link]\nMTUBytes=1500\n"), New: text("[Match]\nName=rail0\n\n[Link]\nMTUBytes=9000\n")}}}
}

func addrStep(i int) plan.Step {
	addr := fmt.Sprintf("10.20.0.%d/24", i)
	return plan.Step{Node: fmt.Sprintf("gpu%03d", i), What: "net/rail0/addr", To: addr, Then: []string{"roce.subnets", "port.netdev"},
		Do: []string{"ip addr replace " + addr + " dev rail0"}, Undo: []string{"ip addr del " + addr + " dev rail0"}}
}

func write(t *testing.T, r PlanReport, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPlanText(t *testing.T) {
	r := PlanReport{Next: "weft apply --accept-risk=link,boot", Plan: plan.Plan{Source: "weft.yaml", After: map[string]int{"pass": 60, "fail": 1, "skip": 3},
		Steps: []plan.Step{
			mtuStep("n1"), mtuStep("n2"),
			{Node: "n1", What: "cmdline/iommu", To: "pt", Risk: plan.RiskBoot, When: plan.Boot, Then: []string{"node.iommu", "gpu.direct", "node.acs"}, Note: "the machine must be booted to have it",
				Files: []plan.File{{Path: "/etc/default/grub.d/weft.cfg", New: text("X=1\n"), Mode: 0o600}, {Path: "/etc/l", New: text("/etc/x"), Link: true}}, Keeps: []string{"/boot/grub/grub.cfg"}, Do: []string{"update-grub"}, Undo: []string{"true"}},
		},
		Hand: []plan.Hand{
			{Node: "n1", Part: "mlx5_0/1", Check: "port.up", What: "DOWN, want ACTIVE", Do: []string{"plug the cable"}},
			{Node: "n2", Part: "mlx5_0/1", Check: "port.up", What: "DOWN, want ACTIVE", Do: []string{"plug the cable"}},
			{Check: "ib.sm", What: "no subnet manager", Why: "it is open which node should run it", Do: []string{"start opensm", "on one node"}},
		}}}
	wantText(t, write(t, r, Options{}), `n[1-2]  net/rail0/mtu  1500 → 9000  risk link
    now:  ip link set dev rail0 mtu 9000
    boot: --- /etc/systemd/network/50-rail0.network
          +++ /etc/systemd/network/50-rail0.network
          @@ -2,4 +2,4 @@
           Name=rail0
           
           [Link]
          -MTUBytes=1500
          +MTUBytes=9000
    undo: /etc/systemd/network/50-rail0.network as it was
          ip link set dev rail0 mtu 1500
    then: roce.mtu passes

n1  cmdline/iommu  – → pt  risk boot, from the next boot on
    now:  update-grub
    boot: --- /dev/null
          +++ /etc/default/grub.d/weft.cfg
          @@ -0,0 +1 @@
          +X=1
          mode 0600
          link /etc/l: – → /etc/x
    undo: /etc/default/grub.d/weft.cfg goes again
          /etc/l goes again
          /boot/grub/grub.cfg as it was
          true
    then: node.iommu, gpu.direct and node.acs pass
    note: the machine must be booted to have it

by hand:
  port.up  n[1-2] mlx5_0/1  DOWN, want ACTIVE
      fix: plug the cable
  ib.sm  cluster  no subnet manager
      not by weft: it is open which node should run it
      fix: start opensm
           on one node

weft.yaml: 3 steps on 2 nodes; left afterwards: 1 fail
risk link (2 steps): a data link drops for a moment: RDMA connections over it end; accept it with --accept-risk=link
risk boot (1 step): the next boot is different: a kernel parameter or an initial ramdisk; accept it with --accept-risk=boot
next:
    weft apply --accept-risk=link,boot
`)
	r.Short, r.Next = true, ""
	wantText(t, write(t, r, Options{}), `n[1-2]  net/rail0/mtu  1500 → 9000  risk link
n1      cmdline/iommu  – → pt       risk boot, from the next boot on

weft.yaml: 3 steps on 2 nodes; left afterwards: 1 fail
risk link (2 steps): a data link drops for a moment: RDMA connections over it end; accept it with --accept-risk=link
risk boot (1 step): the next boot is different: a kernel parameter or an initial ramdisk; accept it with --accept-risk=boot
`)
}

// TestManyNodesAreFewLines: 128 nodes, each with an address of its own.
func TestManyNodesAreFewLines(t *testing.T) {
	var r PlanReport
	for i := range 128 {
		s := mtuStep(fmt.Sprintf("gpu%03d", i+1))
		r.Steps = append(r.Steps, s, addrStep(i+1))
	}
	got := write(t, r, Options{})
	if n := strings.Count(got, "\n"); n > 40 {
		t.Errorf("%d lines", n)
	}
	_, addrs, _ := strings.Cut(got, "\n\n")
	wantText(t, addrs, `gpu001  net/rail0/addr  – → 10.20.0.1/24
    now:  ip addr replace 10.20.0.1/24 dev rail0
    undo: ip addr del 10.20.0.1/24 dev rail0
    then: roce.subnets and port.netdev pass

    likewise  gpu002        – → 10.20.0.2/24
    likewise  gpu003        – → 10.20.0.3/24
    likewise  gpu004        – → 10.20.0.4/24
    likewise  gpu005        – → 10.20.0.5/24
    likewise  gpu006        – → 10.20.0.6/24
    likewise  gpu007        – → 10.20.0.7/24
    likewise  gpu008        – → 10.20.0.8/24
    likewise  gpu009        – → 10.20.0.9/24
    likewise  gpu[010-128]  each its own value
    the commands and files of each: weft plan --full

plan: 256 steps on 128 nodes; afterwards every check passes
risk link (128 steps): a data link drops for a moment: RDMA connections over it end; accept it with --accept-risk=link
`)
	for i := range r.Steps {
		if s := &r.Steps[i]; s.What == "net/rail0/mtu" {
			s.Do = append(s.Do, "ip addr replace "+s.Node+" dev rail0")
		}
	}
	if got, want := write(t, r, Options{}), "\n    likewise  gpu[002-128]  1500 → 9000\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	full := write(t, r, Options{Full: true})
	if n := strings.Count(full, "now:"); n != 256 {
		t.Errorf("%d blocks in full, want 256", n)
	}
	r.Short = true
	if short, want := write(t, r, Options{}), "gpu[001-128]  net/rail0/addr  each its own value\n"; !strings.Contains(short, want) {
		t.Errorf("short:\n%s", short)
	}
}

// TestStepsFoldOnlyWhenEqual: any difference but the node's name makes a block of its own.
func TestStepsFoldOnlyWhenEqual(t *testing.T) {
	for name, change := range map[string]func(s *plan.Step){
		"from":  func(s *plan.Step) { s.From = "1400" },
		"do":    func(s *plan.Step) { s.Do = []string{"reboot"} },
		"undo":  func(s *plan.Step) { s.Undo = []string{"reboot"} },
		"risk":  func(s *plan.Step) { s.Risk = plan.RiskSSH },
		"note":  func(s *plan.Step) { s.Note = "x" },
		"diff":  func(s *plan.Step) { s.Files[0].New = text("x") },
		"path":  func(s *plan.Step) { s.Files[0].Path = "/x" },
		"keeps": func(s *plan.Step) { s.Keeps = []string{"/x"} },
		"lasts": func(s *plan.Step) { s.Lasts = true },
		"shows": func(s *plan.Step) { s.Shows = "x" },
	} {
		a, b := mtuStep("n1"), mtuStep("n2")
		change(&b)
		n := 0
		for _, g := range foldSteps([]plan.Step{a, b}) {
			n += len(g)
		}
		if n != 2 {
			t.Errorf("%s: folded", name)
		}
	}
	a, b := mtuStep("n1"), mtuStep("n2") // files may differ where nobody looks
	far := strings.Repeat("\n", 10)
	a.Files[0].Old, a.Files[0].New = text("a\n1\n2\n3\n"+far+"# n1\n"), text("b\n1\n2\n3\n"+far+"# n1\n")
	b.Files[0].Old, b.Files[0].New = text("a\n1\n2\n3\n"+far+"# n2\n"), text("b\n1\n2\n3\n"+far+"# n2\n")
	if g := foldSteps([]plan.Step{a, b}); len(g) != 1 || len(g[0]) != 1 {
		t.Error("the same diff in different files is not folded")
	}
}

func TestNothingToChange(t *testing.T) {
	wantText(t, write(t, PlanReport{Plan: plan.Plan{Source: "weft.yaml", After: map[string]int{"pass": 3}}, Next: "weft env"}, Options{}), `weft.yaml: nothing to change: every check passes
next:
    weft env
`)
	wantText(t, write(t, PlanReport{Plan: plan.Plan{Source: "weft.yaml", After: map[string]int{"skip": 3}}}, Options{}), "weft.yaml: nothing to change: nothing was judged\n")
	r := PlanReport{Plan: plan.Plan{Source: "weft.yaml", After: map[string]int{"fail": 1}, Hand: []plan.Hand{{Node: "n1", Check: "port.up", What: "DOWN"}}}}
	wantText(t, write(t, r, Options{}), `by hand:
  port.up  n1  DOWN

weft.yaml: nothing that weft can change; left afterwards: 1 fail
`)
}

func TestAPlanPlaysNoTricks(t *testing.T) {
	evil := "\x1b[31m\u202e\r\a"
	s := plan.Step{Node: "n1", What: "x" + evil, From: "a\nb" + evil, To: evil, Do: []string{"do" + evil + "\nagain"}, Undo: []string{evil}, Note: evil, Then: []string{"c"},
		Files: []plan.File{{Path: "/x" + evil, Old: text(evil), New: text("\ttab\n" + evil)}, {Path: "/l" + evil, New: text(evil), Link: true}}}
	r := PlanReport{Plan: plan.Plan{Steps: []plan.Step{s}, Hand: []plan.Hand{{Node: "n1", Part: evil, Check: "c", What: evil, Why: evil, Do: []string{evil}}}}}
	got := write(t, r, Options{})
	r.Short = true
	if all := got + write(t, r, Options{}); strings.ContainsAny(all, "\x1b\u202e\r\a") {
		t.Errorf("got %q", all)
	}
	for _, want := range []string{"a⏎b", "          +\ttab\n", "\n          again\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func TestPlanColourOnlyRepeats(t *testing.T) {
	r := PlanReport{Plan: plan.Plan{Steps: []plan.Step{mtuStep("n1")}}}
	colour := write(t, r, Options{Colour: true})
	plainText := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(colour)
	wantText(t, plainText, write(t, r, Options{}))
	if !strings.Contains(colour, "\x1b[33mrisk link\x1b[0m") || !strings.Contains(colour, "\x1b[31m-MTUBytes=1500\x1b[0m") {
		t.Errorf("%q", colour)
	}
}

func TestPlanDocumentIsTheFile(t *testing.T) {
	p := plan.Plan{ID: "20261115-093412", Source: "weft.yaml", Steps: []plan.Step{mtuStep("n1")}, Hand: []plan.Hand{{Check: "c", What: "<&>"}}}
	var b strings.Builder
	if err := JSON(&b, "plan", p); err != nil {
		t.Fatal(err)
	}
	want, err := plan.Format(p)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, b.String(), string(want))
}

func TestAFileForTheNextLogin(t *testing.T) {
	r := PlanReport{Plan: plan.Plan{Source: "x", Steps: []plan.Step{{Node: "n1", What: "env/X", From: "1", When: plan.Login, Then: []string{"nccl.env"}, Files: []plan.File{{Path: "/etc/environment", Old: text("X=1\n")}}}}}}
	wantText(t, write(t, r, Options{}), `n1  env/X  1 → –  from the next login on
    file: --- /etc/environment
          +++ /dev/null
          @@ -1 +0,0 @@
          -X=1
    undo: /etc/environment as it was
    then: nccl.env passes

x: 1 step on 1 node; afterwards every check passes
`)
}
