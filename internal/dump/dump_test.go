package dump

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func sample() *Dump {
	n := NewNode("spark1")
	n.Text["/sys/class/net/eth0/mtu"] = "1500\n"
	n.Text["/sys/class/net/eth1/mtu"] = "9000\n"
	n.Text["$ ip -j addr"] = "[]\n"
	n.Text["/sys/bus/pci/devices/0000:01:00.0/config"] = "\x15\xb3\x00\x01"
	n.Text["/etc/evil"] = "-- spark2/etc/passwd --\nroot\n"
	n.Link["/sys/class/net/eth0/device"] = "../../../0000:01:00.0"
	n.Gap["/sys/class/net/eth0/speed"] = "invalid argument"
	return &Dump{Note: "constructed\n", Nodes: []*Node{n}}
}

func TestFormatThenParseIsTheSame(t *testing.T) {
	want := sample()
	got, err := Parse(want.Format())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Node{})); diff != "" {
		t.Error(diff)
	}
	if string(got.Format()) != string(want.Format()) {
		t.Error("second format differs from the first")
	}
}

func TestDirAndCmds(t *testing.T) {
	n := sample().Nodes[0]
	if got := n.Dir("/sys/class/net"); !cmp.Equal(got, []string{"eth0", "eth1"}) {
		t.Errorf("Dir = %q", got)
	}
	if got := n.Cmds("ip "); !cmp.Equal(got, []string{"ip -j addr"}) {
		t.Errorf("Cmds = %q", got)
	}
	if mtu, ok := n.Get("/sys/class/net/eth0/mtu"); mtu != "1500" || !ok {
		t.Errorf("Get = %q, %v", mtu, ok)
	}
}

func TestParseRefuses(t *testing.T) {
	whole := string(sample().Format())
	for name, c := range map[string]struct{ in, want string }{
		"cut short":       {whole[:len(whole)/2], "cut short"},
		"forged":          {strings.Replace(whole, "9000", "1500", 1), "line 17: the dump was changed"},
		"appended":        {whole + "-- x/y --\n", "a member after the end member"},
		"twice":           {"-- a/b --\n-- a/b --\n", "line 2: a/b is there twice"},
		"no slash":        {"-- a --\nx\n", `line 1: member "a" is not NODE/path`},
		"bad base64":      {"-- =a/b --\n%%\n", "line 1: =a/b: illegal base64"},
		"other version":   {"weft dump 9\n-- a/b --\n", "line 1: \"weft dump 9\""},
		"empty":           {"", "not a dump"},
		"binary rubbish":  {"\x00\x01\xff\n\x7fELF", "not a dump"},
		"one huge member": {"-- a/b --\n" + strings.Repeat("x\n", MaxText/2+1), "holds more than"},
	} {
		_, err := Parse([]byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestForgedComplaintStaysAComplaint(t *testing.T) {
	n := NewNode("n")
	n.Gap["$ evil"] = "it said\n-- other/etc/shadow --\nroot\x1b[31m"
	n.Link["/sys/x"] = "-- other/etc/passwd --"
	d, err := Parse((&Dump{Nodes: []*Node{n}}).Format())
	if err != nil || len(d.Nodes) != 1 {
		t.Fatalf("%d nodes, %v", len(d.Nodes), err)
	}
	if got := d.Nodes[0].Gap["$ evil"]; got != "it said\n>-- other/etc/shadow --\nroot?[31m" {
		t.Errorf("gap %q", got)
	}
}

func TestHandWrittenNeedsNoEnd(t *testing.T) {
	d, err := Parse([]byte("what we saw\n-- !n/sys/x --\npermission denied\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Node("n").Gap["/sys/x"] != "permission denied" || d.Note != "what we saw\n" {
		t.Errorf("got %+v", d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample().Format())
	f.Add([]byte("-- !n/sys/x --\npermission denied\n-- =a/b --\nAAA=\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse(b)
		if err != nil {
			return
		}
		first := d.Format()
		again, err := Parse(first)
		if err != nil {
			t.Fatalf("own format: %v", err)
		}
		if second := again.Format(); string(first) != string(second) {
			t.Fatalf("format is not stable:\n%s\n%s", first, second)
		}
	})
}
