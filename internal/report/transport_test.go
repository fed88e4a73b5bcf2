package report

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/format/nccllog"
	"weft/internal/transport"
)

func transportText(t *testing.T, log string, o Options, ranks bool) string {
	t.Helper()
	l, err := nccllog.Read(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := (Transport{Source: "job.log", Verdict: transport.Judge(l, transport.Expect{})}).Text(&b, o, ranks); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTransportClean: a log cannot play tricks on a terminal.
func TestTransportClean(t *testing.T) {
	out := transportText(t, "h\x1b]0;x\x07:1:2 [0] x.cc:1 NCCL WARN evil\x1b[2Jtext\u202e and \x07 bell\n", Options{}, false)
	if strings.ContainsAny(out, "\x1b\x07") || strings.Contains(out, "\u202e") || !strings.Contains(out, "nccl.warning") {
		t.Errorf("the answer is %q", out)
	}
}

// TestTransportBounded: a log of a thousand different problems is not a thousand lines.
func TestTransportBounded(t *testing.T) {
	var log strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&log, "h:1:2 [0] x.cc:1 NCCL WARN odd thing %c%c%c\n", 'a'+i%26, 'a'+i/26%26, 'a'+i/676)
	}
	out := transportText(t, log.String(), Options{}, false)
	if n := strings.Count(out, "\n"); n > 80 || !strings.Contains(out, "more: --json") {
		t.Errorf("%d lines:\n%s", n, out)
	}
}

// TestTransportSeveral shows communicators that differ in size, and the ones that are
// alike as one.
func TestTransportSeveral(t *testing.T) {
	var log strings.Builder
	for r := range 4 {
		fmt.Fprintf(&log, "n%d:1%d:2 [%d] NCCL INFO ncclCommInitRank comm 0xa%d rank %d nranks 4 cudaDev %d nvmlDev %d busId 1 commId 0x1 - Init COMPLETE\n", r/2, r, r%2, r, r, r%2, r%2)
		fmt.Fprintf(&log, "n%d:1%d:2 [%d] NCCL INFO Channel 00/0 : %d[0] -> %d[0] [send] via NET/IB/0/GDRDMA\n", r/2, r, r%2, r, (r+2)%4)
		fmt.Fprintf(&log, "n%d:1%d:2 [%d] NCCL INFO ncclCommInitRank comm 0xb%d rank %d nranks 2 cudaDev %d nvmlDev %d busId 1 commId 0x2%d - Init COMPLETE\n", r/2, r, r%2, r, r%2, r%2, r%2, r/2)
		fmt.Fprintf(&log, "n%d:1%d:2 [%d] NCCL INFO Channel 00/0 : %d[0] -> %d[0] via P2P/CUMEM\n", r/2, r, r%2, r%2, 1-r%2)
	}
	out := transportText(t, log.String(), Options{}, false)
	for _, want := range []string{
		"4 ranks       0-3    between nodes  1         NET/IB device 0  yes        channel lines",
		"2 of 2 ranks  0-1    inside a node  1         P2P/CUMEM        –          channel lines",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	if out := transportText(t, log.String(), Options{All: true}, true); !strings.Contains(out, "0x21          1     n1    1    inside a node  0         P2P/CUMEM") {
		t.Errorf("rows per rank:\n%s", out)
	}
}
