package lab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weft/internal/lab"
	"weft/internal/rehearsal"
)

// rehearse runs weft rehearse and returns what it found.
func rehearse(t *testing.T, code int, args ...string) rehearsal.Rehearsal {
	t.Helper()
	return rehearseUntil(t, code, nil, args...)
}

// rehearseUntil does something to the machines as soon as they exchange.
func rehearseUntil(t *testing.T, code int, strike func(), args ...string) rehearsal.Rehearsal {
	t.Helper()
	cmd := real(t, append([]string{"rehearse", "--json"}, args...)...)
	var out bytes.Buffer
	said := &measuring{word: "all-reduce", strike: strike}
	cmd.Stdout, cmd.Stderr = &out, said
	cmd.Run() // its exit code is looked at
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("weft rehearse %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, said)
	}
	var r rehearsal.Rehearsal
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("weft rehearse: %v\n%s", err, &out)
	}
	return r
}

// TestRealRehearse performs a model's communication in every layout: tokens are counted
// over both transports, RDMA's port carries what RDMA is said to carry, and the rest of
// weft takes the rehearsal in place of its constants.
func TestRealRehearse(t *testing.T) {
	l := place(t, false)
	s := up(t, "--nodes", "4")
	for _, c := range []struct {
		args  []string
		steps int
		kinds []string
	}{
		{[]string{"--model", "Qwen2.5-7B", "--tp", "2", "--pp", "2"}, 60, []string{"all-reduce 7168 2", "hop 7168 2", "hop 8 2"}},
		{[]string{"--model", "gpt-oss-20b", "--ep", "2", "--batch", "4"}, 48, []string{"all-to-all 11520 2"}},
		{[]string{"--model", "Qwen2.5-7B"}, 56, []string{"all-reduce 7168 4"}},
	} {
		r := rehearse(t, 0, append(c.args, "--quick")...)
		var kinds []string
		for _, sy := range r.Syncs {
			if sy.Micros.Median <= 0 || sy.Micros.P99 < sy.Micros.Median {
				t.Errorf("%v: %+v", c.args, sy)
			}
			if kind := fmt.Sprint(sy.Kind, " ", sy.Bytes, " ", sy.Nodes); sy.Transport == "rdma" {
				kinds = append(kinds, kind)
			}
		}
		if !slices.Equal(kinds, c.kinds) {
			t.Errorf("%v: exchanges %q, want %q", c.args, kinds, c.kinds)
		}
		if len(r.Tokens) != 2 || r.Tokens[0].Carried != "rdma0/1" || r.Tokens[1].Carried != "rail0" {
			t.Fatalf("%v: tokens %+v, left %q", c.args, r.Tokens, r.Left)
		}
		for _, tok := range r.Tokens {
			fmt.Printf("%-50s %-4s %3d exchanges, %8.1f ms a token, %6.2f tokens/s at most\n", strings.Join(c.args, " "), tok.Transport, tok.Steps, tok.Micros.Median/1000, tok.PerSecond)
			if tok.Steps != c.steps || tok.Count < 3 || tok.PerSecond <= 0 {
				t.Errorf("%v: %+v, want %d exchanges", c.args, tok, c.steps)
			}
		}
	}
	nothingLeft(t, l, s)
	out, err := real(t, "why", "--model", "Qwen2.5-7B", "--measured", "5", "--hardware", "4x strix-halo", "--link", "10g-rdma", "--rehearsal", "last").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rehearsal 20") {
		t.Errorf("weft why does not take the rehearsal: %v\n%s", err, out)
	}
}

// TestRealRehearseLoses: a machine that loses its power in the middle is named, and the
// others are freed.
func TestRealRehearseLoses(t *testing.T) {
	l := place(t, true)
	s := up(t, "--nodes", "3")
	rehearse(t, 0, "--bytes", "16KiB", "--quick") // weft is put on the machines once
	r := rehearseUntil(t, 3, func() { weft(t, "lab", "break", "off", "node2") }, "--bytes", "16KiB", "--thorough", "--busy")
	if !strings.Contains(strings.Join(r.Left, "\n"), "node2") {
		t.Errorf("left %q, want node2 named", r.Left)
	}
	weft(t, "lab", "heal", "off", "node2")
	nothingLeft(t, l, s)
}

// mpi puts OpenMPI of this machine, and a program that does one all-reduce, into the lab's
// machines, which have the same system, and returns how mpirun is called in the first.
func mpi(t *testing.T, l lab.Lab, s lab.State) func(options string) float64 {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "allreduce")
	if _, err := osexec.LookPath("mpicc"); err != nil {
		t.Skip("needs OpenMPI to compare with: apt install openmpi-bin libopenmpi-dev gcc")
	}
	data := filepath.Join(moduleDir, "testdata")
	if out, err := osexec.Command("mpicc", "-O2", "-o", program, filepath.Join(data, "allreduce.c")).CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	pack := osexec.Command("sh", "-c", `sh "$2/mpi-files.sh" "$0" >"$1/files" && tar -chzf "$1/mpi.tgz" -T "$1/files"`, program, dir, data)
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("OpenMPI's files: %v\n%s", err, out)
	}
	var hosts []string
	for _, n := range s.Nodes {
		send(t, l, n.Name, filepath.Join(dir, "mpi.tgz"), "sudo tar --skip-old-files -xzf - -C / && sudo ldconfig")
		send(t, l, n.Name, program, "cat >allreduce && chmod +x allreduce")
		send(t, l, n.Name, l.Key(), `umask 077; mkdir -p .ssh && cat >.ssh/id_ed25519 && echo "StrictHostKeyChecking accept-new" >.ssh/config`)
		hosts = append(hosts, strings.TrimSpace(inside(t, l, n.Name, "ip -4 -o addr show dev rail0 | sed 's/.*inet //; s/[/].*//'")))
	}
	return func(options string) float64 {
		t.Helper()
		command := fmt.Sprintf("ulimit -l unlimited; exec -a mpirun /usr/bin/orterun -np %d -H %s --map-by node --mca plm_rsh_agent ssh --mca oob_tcp_if_include rail0 --mca mpi_yield_when_idle 1 %s ./allreduce 16384 60",
			len(hosts), strings.Join(hosts, ","), options)
		argv, err := l.SSH(s.Nodes[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		out, err := osexec.Command(argv[0], append(argv[1:], "bash -c "+"'"+command+"'")...).CombinedOutput()
		at := strings.LastIndex(string(out), "allreduce 16384 bytes: ")
		if err != nil || at < 0 {
			t.Fatalf("mpirun %s: %v\n%s", options, err, out)
		}
		us, err := strconv.ParseFloat(strings.Fields(string(out[at:]))[3], 64)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return us
	}
}

// send gives a file to a command in a machine.
func send(t *testing.T, l lab.Lab, node, file, command string) {
	t.Helper()
	argv, err := l.SSH(node)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := osexec.Command(argv[0], append(argv[1:], command)...)
	cmd.Stdin = f
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %s: %v\n%s", node, command, err, out)
	}
}

// TestRealRehearsePeer holds a 16 KiB all-reduce among four machines to OpenMPI's on the
// same machines in the same run, by medians of alternations: over RDMA to OpenMPI with
// UCX, over TCP to OpenMPI's own TCP.
func TestRealRehearsePeer(t *testing.T) {
	l := place(t, true)
	s := up(t, "--nodes", "4")
	run := mpi(t, l, s)
	peers := map[string]string{
		"rdma": "--mca pml ucx -x UCX_NET_DEVICES=rdma0:1 -x UCX_IB_GID_INDEX=0 -x UCX_TLS=rc,self", // docs: the IPv4 GID does not work with UCX here
		"tcp":  "--mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include rail0",
	}
	weft, peer := map[string][]float64{}, map[string][]float64{}
	var how []string
	for range 3 {
		for _, over := range []string{"rdma", "tcp"} {
			peer[over] = append(peer[over], run(peers[over]))
		}
		for _, sy := range rehearse(t, 0, "--bytes", "16KiB", "--quick", "--busy").Syncs {
			weft[sy.Transport] = append(weft[sy.Transport], sy.Micros.Median)
			how = append(how, sy.Transport+" "+sy.How)
		}
	}
	slices.Sort(how)
	fmt.Printf("16 KiB all-reduce among 4, medians of 3 alternations; ways taken: %s\n", strings.Join(slices.Compact(how), ", "))
	for _, over := range []string{"rdma", "tcp"} {
		ratio := median(weft[over]) / median(peer[over])
		fmt.Printf("%-4s weft %7.0f µs   OpenMPI %7.0f µs   ratio %.2f\n", over, median(weft[over]), median(peer[over]), ratio)
		if ratio > 1 {
			t.Errorf("%s: weft takes %.2f of OpenMPI's time, want at most 1", over, ratio)
		}
	}
}
