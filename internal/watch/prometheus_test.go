package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/watch/local/tree"
)

// prometheus starts a real Prometheus that scrapes an address, and returns its own.
func prometheus(t *testing.T, target, token string) string {
	t.Helper()
	program := tool(t, "prometheus")
	dir := t.TempDir()
	rules, err := filepath.Abs(deploy + "/prometheus/weft.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"token": token,
		"prometheus.yml": fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: weft
    authorization: {credentials_file: %q}
    static_configs: [{targets: [%q]}]
`, rules, filepath.Join(dir, "token"), target),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	var said bytes.Buffer
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus said:\n%s", said.String())
		}
	})
	until(t, "Prometheus is ready", func() bool {
		r, err := http.Get("http://" + addr + "/-/ready")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return "http://" + addr
}

// ask asks Prometheus and returns how many series answer, and the first value.
func ask(t *testing.T, prom, expr string) (n int, value float64) {
	t.Helper()
	r, err := http.Get(prom + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value []any }
		}
	}
	if err := json.Unmarshal(b, &a); err != nil || a.Status != "success" {
		t.Errorf("%s: %v %s", expr, err, a.Error)
		return 0, 0
	}
	if len(a.Data.Result) > 0 && len(a.Data.Result[0].Value) == 2 {
		value, _ = strconv.ParseFloat(fmt.Sprint(a.Data.Result[0].Value[1]), 64)
	}
	return len(a.Data.Result), value
}

// TestPrometheusScrapesTheAgent: a real Prometheus, a real server with a token, a machine
// made of files whose ports send, flap and change.
func TestPrometheusScrapesTheAgent(t *testing.T) {
	m, err := tree.Make(t.TempDir(), 2)
	if err != nil {
		t.Fatal(err)
	}
	const token = "0123456789abcdef"
	address, w := served(t, Order{Nodes: []string{"n1"}, Source: "this machine", Every: time.Second, Open: Here(string(m)), Version: "test"}, token)
	until(t, "the first look", func() bool { return w.Live().Totals.Ports == 2 })
	prom := prometheus(t, strings.TrimPrefix(address, "http://"), token)
	until(t, "the first scrape", func() bool { n, v := ask(t, prom, "up"); return n == 1 && v == 1 })
	for i := 0; i < 6; i++ { // 1 GB in each second, words of four bytes
		if err := m.Set(tree.Port(0)+"/counters/port_xmit_data", strconv.Itoa(1_000_000_000+i*250_000_000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	for expr, want := range map[string]float64{
		`count(weft_port_up == 1)`:                                                      2,
		`weft_port_rate_bytes_per_second{device="mlx5_0"}`:                              50e9,
		`weft_port_mtu_bytes{device="mlx5_1"}`:                                          9000,
		`weft_port_gids{device="mlx5_1"}`:                                               2,
		`count({__name__=~"weft_port_.*_total", device="mlx5_0", port="1", node="n1"})`: float64(len(tree.Counters)+len(tree.HWCounters)-1) + 1, // and flaps
		`count(count by (__name__) ({__name__=~"weft_.*"})) > bool 70`:                  1,
	} {
		if n, v := ask(t, prom, expr); n != 1 || v != want {
			t.Errorf("%s: %d series, %g, want %g", expr, n, v, want)
		}
	}
	if n, v := ask(t, prom, `rate(weft_port_transmit_bytes_total{device="mlx5_0"}[5s])`); n != 1 || v < 0.5e9 || v > 2e9 {
		t.Errorf("sent %g bytes a second, want about 1e9", v)
	}
	for name, expr := range queries(t) {
		ask(t, prom, expr) // its error is the test
		_ = name
	}
	must := func(path, text string) {
		t.Helper()
		if err := m.Set(path, text); err != nil {
			t.Fatal(err)
		}
	}
	must(tree.Port(1)+"/state", "1: DOWN")
	must("sys/class/net/eth0/mtu", "1500")
	must(tree.Port(0)+"/counters/local_link_integrity_errors", "99999999")
	until(t, "the drift", func() bool { n, _ := ask(t, prom, `weft_drift{what="mtu", part="mlx5_0/1"}`); return n == 1 })
	until(t, "the error", func() bool {
		n, _ := ask(t, prom, `ALERTS{alertname="WeftPortErrors", counter="local_link_integrity_errors"}`)
		return n == 1
	})
	until(t, "the alert of the port", func() bool {
		n, _ := ask(t, prom, `ALERTS{alertname="WeftPortDown", device="mlx5_1", alertstate="pending"}`)
		return n == 1
	})
	if n, _ := ask(t, prom, `weft:port_transmit:ratio{device="mlx5_0"}`); n != 1 {
		t.Error("the recorded use of a port is not there")
	}
}
