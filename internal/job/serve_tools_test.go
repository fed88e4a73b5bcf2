package job

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// These tests give what weft writes to the tools that will read it.

// TestUnitsAreAccepted has systemd itself read every unit: systemd-analyze verify. The
// programs of a unit need not be here: a file stands in for each.
func TestUnitsAreAccepted(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here (package systemd)")
	}
	for name, l := range launches(t) {
		for _, n := range l.Nodes[:min(2, len(l.Nodes))] {
			dir := t.TempDir()
			var units []string
			for _, f := range n.Files {
				if strings.HasPrefix(f.Path, "/etc/systemd/system/") {
					units = append(units, putUnit(t, dir, filepath.Base(f.Path), f.Text))
				}
			}
			if len(units) == 0 || l.Units == "quadlet" { // that one's units need the generated: TestQuadlets
				continue
			}
			verify(t, analyze, dir, name, units)
		}
	}
}

// TestVerifySees wants a unit that is wrong to be refused, so that the test above means
// something.
func TestVerifySees(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here (package systemd)")
	}
	dir := t.TempDir()
	unit := putUnit(t, dir, "weft-serve-x.service", "[Unit]\nStartLimitTypo=3\n[Service]\nExecStart=\"/bin/true\n")
	cmd := exec.Command(analyze, "verify", "--man=no", unit)
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
	if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "StartLimitTypo") || !strings.Contains(string(out), "weft-serve-x") {
		t.Errorf("systemd-analyze takes anything:\n%s", out)
	}
}

// putUnit writes a unit whose programs are files of the folder.
func putUnit(t *testing.T, dir, name, text string) string {
	t.Helper()
	for _, program := range []string{"/usr/bin/docker", "/usr/bin/podman", "/opt/vllm/bin/ray", "/opt/vllm/bin/vllm", "/opt/llama/bin/llama-server", "/opt/llama/bin/rpc-server"} {
		stand := filepath.Join(dir, "bin-"+filepath.Base(program))
		if err := os.WriteFile(stand, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, before := range []string{"=", "=-"} {
			text = strings.ReplaceAll(text, before+program+" ", before+stand+" ")
		}
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "docker.service") {
		if err := os.WriteFile(filepath.Join(dir, "docker.service"), []byte("[Service]\nExecStart="+filepath.Join(dir, "bin-docker")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func verify(t *testing.T, analyze, dir, name string, units []string) {
	t.Helper()
	cmd := exec.Command(analyze, append([]string{"verify", "--man=no"}, units...)...)
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
	out, err := cmd.CombinedOutput()
	var said []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "weft-serve") { // others are about this machine's own units
			said = append(said, strings.TrimSpace(line))
		}
	}
	if len(said) > 0 {
		t.Errorf("%s: systemd-analyze verify: %v\n%s", name, err, strings.Join(said, "\n"))
	}
}

// TestQuadlets has podman's generator make services of quadlets, and systemd read these.
func TestQuadlets(t *testing.T) {
	generator := os.Getenv("WEFT_QUADLET")
	for _, path := range []string{"/usr/libexec/podman/quadlet", "/usr/lib/podman/quadlet", "/usr/lib/systemd/system-generators/podman-system-generator"} {
		if _, err := os.Stat(path); generator == "" && err == nil {
			generator = path
		}
	}
	if generator == "" {
		t.Skip("podman's quadlet is not here (podman 4.4 or newer; WEFT_QUADLET names it)")
	}
	l := launches(t)["strix, quadlet"]
	for _, n := range l.Nodes[:2] {
		dir := t.TempDir()
		for _, f := range n.Files {
			if strings.HasPrefix(f.Path, "/etc/containers/systemd/") {
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.Path)), []byte(f.Text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		cmd := exec.Command(generator, "-dryrun")
		cmd.Env = append(os.Environ(), "QUADLET_UNIT_DIRS="+dir)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", n.Node, err, said.String())
		}
		service := string(out)
		if s := said.String(); strings.Contains(s, "nsupported") || strings.Contains(s, "rror") {
			t.Errorf("quadlet: %s", s)
		}
		for _, want := range []string{
			"podman run --name=weft-serve-qwen3-235b-a22b-ray", "--network=host", "--device=/dev/infiniband", "--device=/dev/kfd", "--device=/dev/dri", "--security-opt=label=disable",
			"--env-file=/var/lib/weft/serve/qwen3-235b-a22b/env", "--env-file=/var/lib/weft/serve/qwen3-235b-a22b/secret.env", "--ulimit=memlock=-1:-1", "--ipc=host", "--pids-limit=-1", "--group-add=render", "--cap-add=ipc_lock",
			"--entrypoint=ray", "kyuz0/vllm-therock-gfx1151:latest start --block", "Restart=on-failure", "StartLimitBurst=3",
		} {
			plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "=", " ")) }
			if !strings.Contains(plain(service), plain(want)) {
				t.Errorf("the service that quadlet makes has no %q:\n%s", want, service)
			}
		}
		analyze, err := exec.LookPath("systemd-analyze")
		if err != nil {
			continue
		}
		units := []string{putUnit(t, dir, n.Parts[0].Unit, service[strings.Index(service, "[Unit]"):])}
		for _, f := range n.Files {
			if strings.HasPrefix(f.Path, "/etc/systemd/system/") {
				units = append(units, putUnit(t, dir, filepath.Base(f.Path), f.Text))
			}
		}
		verify(t, analyze, dir, n.Node, units)
	}
}

// created is the part of docker's request to make a container that matters here.
type created struct {
	Image      string
	Cmd        []string
	Entrypoint []string
	Env        []string
	HostConfig struct {
		NetworkMode, IpcMode string
		PidsLimit            *int64
		Init                 *bool
		CapAdd, Binds        []string
		AutoRemove           bool
		Devices              []struct{ PathOnHost string }
		DeviceRequests       []struct {
			Count        int
			Capabilities [][]string
		}
		Ulimits []struct {
			Name       string
			Soft, Hard int64
		}
	}
}

// TestDockerUnderstands gives the command of a unit to the real docker client and looks at
// what it asks its daemon for. The daemon is this test.
func TestDockerUnderstands(t *testing.T) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("docker's client is not here")
	}
	if out, err := exec.Command(docker, "--version").CombinedOutput(); err != nil || !strings.Contains(string(out), "Docker version") {
		t.Skipf("%s is not docker's client: %s", docker, out)
	}
	dir := t.TempDir()
	asked := make(chan created, 4)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.43")
		w.Header().Set("Ostype", "linux")
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/create"):
			var c created
			b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			if err := json.Unmarshal(b, &c); err != nil {
				t.Error(err)
			}
			asked <- c
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"Id":"0123456789ab","Warnings":[]}`)
		default:
			io.WriteString(w, "OK")
		}
	})
	socket := filepath.Join(dir, "d.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err)
	}
	server := &http.Server{Handler: mux}
	go server.Serve(listener)
	defer server.Close()

	l := launches(t)["sparks, ray, docker"]
	for _, n := range l.Nodes {
		args := containerArgs(t, dir, n, "docker run --rm ")
		cmd := exec.Command(docker, append([]string{"-H", "unix://" + socket, "create", "--rm"}, args...)...)
		cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("docker create %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		var c created
		select {
		case c = <-asked:
		case <-time.After(10 * time.Second):
			t.Fatal("docker asked for nothing")
		}
		h := c.HostConfig
		locked := slices.ContainsFunc(h.Ulimits, func(u struct {
			Name       string
			Soft, Hard int64
		}) bool {
			return u.Name == "memlock" && u.Soft == -1 && u.Hard == -1
		})
		if h.NetworkMode != "host" || h.IpcMode != "host" || h.PidsLimit == nil || *h.PidsLimit != -1 || !slices.Contains(h.CapAdd, "CAP_IPC_LOCK") && !slices.Contains(h.CapAdd, "IPC_LOCK") || !locked || !h.AutoRemove || h.Init == nil || !*h.Init {
			t.Errorf("%s: %+v", n.Node, h)
		}
		if len(h.Devices) != 1 || h.Devices[0].PathOnHost != "/dev/infiniband" || len(h.DeviceRequests) != 1 || h.DeviceRequests[0].Count != -1 || !slices.Contains(h.DeviceRequests[0].Capabilities[0], "gpu") {
			t.Errorf("%s: devices %+v %+v", n.Node, h.Devices, h.DeviceRequests)
		}
		if !slices.Equal(c.Entrypoint, []string{"ray"}) || c.Cmd[0] != "start" || !slices.Contains(c.Cmd, "--node-ip-address="+n.Addr) || c.Image != l.Image {
			t.Errorf("%s: %+v %+v", n.Node, c.Entrypoint, c.Cmd)
		}
		for _, v := range n.Env {
			if !slices.Contains(c.Env, v.Name+"="+v.Value) {
				t.Errorf("%s: the container does not get %s=%s but %q", n.Node, v.Name, v.Value, c.Env)
			}
		}
	}
}

// containerArgs are the arguments of the node's first part after the runtime's "run", with
// its env files written where this test may.
func containerArgs(t *testing.T, dir string, n NodeLaunch, run string) []string {
	t.Helper()
	var text string
	for _, f := range n.Files {
		if strings.HasSuffix(f.Path, n.Parts[0].Name+".service") {
			text = f.Text
		}
		if strings.HasSuffix(f.Path, "env") {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.Path)), []byte(f.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			text = strings.ReplaceAll(text, f.Path, filepath.Join(dir, filepath.Base(f.Path)))
		}
	}
	_, line, ok := strings.Cut(text, run)
	if !ok {
		t.Fatalf("no %q in\n%s", run, text)
	}
	line, _, _ = strings.Cut(line, "\n")
	line = strings.ReplaceAll(line, "/var/lib/weft/serve/"+strings.TrimSuffix(strings.TrimPrefix(n.Parts[0].Name, "weft-serve-"), "-ray")+"/", dir+"/")
	args := strings.Fields(line)
	for i, a := range args {
		args[i] = unquoteSystemd(a)
	}
	return args
}

// TestPodmanUnderstands gives the command of a unit to the real podman, which makes the
// container (and does not start it), and looks at what it made. Devices that are not here
// are left out.
func TestPodmanUnderstands(t *testing.T) {
	podman, err := exec.LookPath("podman")
	if err != nil {
		t.Skip("podman is not here (package podman)")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	own := []string{"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs"}
	pod := func(args ...string) (string, error) {
		cmd := exec.Command(podman, append(own, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	tar := filepath.Join(dir, "empty.tar")
	if out, err := exec.Command("tar", "-cf", tar, "-C", "/etc", "hostname").CombinedOutput(); err != nil {
		t.Skipf("tar: %v %s", err, out)
	}
	if out, err := pod("import", tar, "localhost/kyuz0/vllm-therock-gfx1151:latest"); err != nil {
		t.Skipf("podman does not work here: %v %s", err, out)
	}
	l := launches(t)["strix, podman"]
	n := l.Nodes[1]
	var args []string
	all := containerArgs(t, dir, n, "podman run --rm ")
	for i := 0; i < len(all); i++ {
		if _, err := os.Stat(all[min(i+1, len(all)-1)]); all[i] == "--device" && err != nil {
			i++ // with its value
			continue
		}
		if all[i] == "-v" { // neither are the folders
			from, _, _ := strings.Cut(all[i+1], ":")
			if _, err := os.Stat(from); err != nil {
				i++
				continue
			}
		}
		args = append(args, all[i])
	}
	if out, err := pod(append([]string{"create", "--rm"}, args...)...); err != nil {
		t.Fatalf("podman create %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	out, err := pod("inspect", n.Parts[0].Container)
	if err != nil {
		t.Fatal(err, out)
	}
	var got []struct {
		Config struct {
			Env, Cmd   []string
			Entrypoint any
		}
		HostConfig struct {
			NetworkMode string
			CapAdd      []string
			GroupAdd    []string
			AutoRemove  bool
			PidsLimit   int64
			Ulimits     []struct {
				Name       string
				Soft, Hard int64
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 1 {
		t.Fatal(err, out)
	}
	h := got[0].HostConfig
	locked := false
	for _, u := range h.Ulimits {
		locked = locked || strings.Contains(strings.ToLower(u.Name), "memlock") && u.Soft == -1 && u.Hard == -1
	}
	if h.NetworkMode != "host" || !h.AutoRemove || h.PidsLimit > 0 || !locked || !slices.Contains(h.GroupAdd, "render") || !slices.Contains(h.CapAdd, "CAP_IPC_LOCK") {
		t.Errorf("%+v", h)
	}
	if got[0].Config.Cmd[0] != "start" || got[0].Config.Entrypoint != any("ray") {
		t.Errorf("%+v", got[0].Config)
	}
	for _, v := range n.Env {
		if !slices.Contains(got[0].Config.Env, v.Name+"="+v.Value) {
			t.Errorf("the container does not get %s=%s but %q", v.Name, v.Value, got[0].Config.Env)
		}
	}
}
