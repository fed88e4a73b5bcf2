package cli

import (
	"strings"
	"testing"
)

// TestRecordedH200 replays what weft read on a machine with a real H200.
func TestRecordedH200(t *testing.T) {
	const file = "testdata/recorded/h200.dump"
	code, out, errOut := weft(t, "check", "-F", file, "--all")
	if code != exitYes || errOut != "" {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	for _, want := range []string{"pass     gpu.seen        h200 gpu0", "pass     stack.nccl      h200  libnccl 2.28.3"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if _, out, _ = weft(t, "show", "gpus", "-F", file); !strings.Contains(out, "NVIDIA H200  Hopper  140.4 GiB  580.159.04") {
		t.Errorf("got\n%s", out)
	}
}
