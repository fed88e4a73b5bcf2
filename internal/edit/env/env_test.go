package env

import (
	"os/exec"
	"strings"
	"testing"

	"weft/internal/format/host"
)

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name, text, value string
		shell             bool
		want              string // "" is refused
	}{
		{"there", "A=1\nNCCL_X=mlx5_7\nB=2\n", "=mlx5_0:1", false, "A=1\nNCCL_X==mlx5_0:1\nB=2\n"},
		{"quoted", "NCCL_X=\"a b\"  # why\n", "c", false, "NCCL_X=c  # why\n"},
		{"of a shell", "  export NCCL_X=a\r\n", "=b", true, "  export NCCL_X='=b'\r\n"},
		{"not there", "A=1", "b", false, "A=1\nNCCL_X=b\n"},
		{"not there, shell", "", "b", true, "export NCCL_X='b'\n"},
		{"twice", "NCCL_X=a\nNCCL_X=b\n", "c", false, "NCCL_X=c\nNCCL_X=c\n"},
		{"a longer name", "NCCL_XY=a\nMY_NCCL_X=b\n", "c", false, "NCCL_XY=a\nMY_NCCL_X=b\nNCCL_X=c\n"},
		{"a comment stays", "# NCCL_X=a\n", "c", false, "# NCCL_X=a\nNCCL_X=c\n"},
		{"two on a line", "export A=1 NCCL_X=2\n", "c", true, ""},
		{"a condition", "[ -e /x ] && NCCL_X=2\n", "c", true, ""},
		{"a command substitution", "NCCL_X=$(cat /x)\n", "c", true, ""},
		{"before a command", "NCCL_X=1 train.sh\n", "c", true, ""},
		{"exported later", "NCCL_X=1\nexport NCCL_X\n", "c", true, "NCCL_X='c'\nexport NCCL_X\n"},
		{"used", "NCCL_X=1\nY=$NCCL_X\n", "c", true, ""},
		{"open quotes at the end", "echo 'it\n", "c", true, ""},
		{"a here-document", "cat <<X\n", "c", true, ""},
		{"a value with a newline", "", "a\nLD_PRELOAD=x", false, ""},
		{"a value with a quote", "", "a'b", true, ""},
	} {
		got, err := Set(tt.text, "NCCL_X", tt.value, tt.shell)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestUnset(t *testing.T) {
	got, err := Unset("A=1\nexport NCCL_IB_DISABLE=1\nB=2", "NCCL_IB_DISABLE")
	if err != nil || got != "A=1\nB=2" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Unset("A=1\n", "NCCL_IB_DISABLE"); err == nil {
		t.Errorf("nothing to take out: %q", got)
	}
	if got, err := Unset("if x; then NCCL_IB_DISABLE=1; fi\n", "NCCL_IB_DISABLE"); err == nil {
		t.Errorf("a condition became %q", got)
	}
}

// FuzzSet: weft's own reader finds the value, the last one as well, and every line that
// says nothing of the variable stays.
func FuzzSet(f *testing.F) {
	f.Add("A=1\nNCCL_X=mlx5_7\n", "=mlx5_0:1", true)
	f.Add("export NCCL_X=\"a\" # b\n", "c", false)
	f.Fuzz(func(t *testing.T, text, value string, shell bool) {
		out, err := Set(text, "NCCL_X", value, shell)
		if err != nil || strings.Contains(text, "\r") {
			return
		}
		found := false
		for _, a := range host.ParseShellEnv([]byte(out)) {
			if a.Key == "NCCL_X" {
				found = true
				if a.Value != value {
					t.Errorf("%q with %q: %q has %q", text, value, out, a.Value)
				}
			}
		}
		if !found {
			t.Errorf("%q with %q: %q has none", text, value, out)
		}
		if again, err := Set(out, "NCCL_X", value, shell); err != nil || again != out {
			t.Errorf("a second time %q, %v", again, err)
		}
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "NCCL_X") && !strings.Contains(out, strings.TrimSuffix(line, "\n")) {
				t.Errorf("%q lost %q", out, line)
			}
		}
	})
}

// TestShellReadsIt lets a real shell read what weft writes for shells.
func TestShellReadsIt(t *testing.T) {
	for _, value := range []string{"=mlx5_0:1,mlx5_1:1", "^docker0,lo", "", "a/b+c-d.e_f"} {
		text, err := Set("A=1\n", "NCCL_IB_HCA", value, true)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("sh", "-c", text+"env | grep '^NCCL_IB_HCA='").Output()
		if err != nil || string(out) != "NCCL_IB_HCA="+value+"\n" {
			t.Errorf("%q: sh has %q, %v", text, out, err)
		}
	}
}
