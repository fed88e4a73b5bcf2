package host

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weft/internal/fixture"
)

// wants fails unless got is want and err says want's words ("" for none).
func wants(t *testing.T, want, got any, err error, wantErr string) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if err == nil && wantErr != "" || err != nil && err.Error() != wantErr {
		t.Errorf("error %v, want %q", err, wantErr)
	}
}

const ubuntu = `PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE="debian other"
VARIANT_ID='server'
`

func TestParseOSRelease(t *testing.T) {
	got, err := ParseOSRelease([]byte(ubuntu))
	wants(t, OSRelease{"ubuntu", []string{"debian", "other"}, "Ubuntu", "Ubuntu 24.04.3 LTS", "24.04", "noble", "server"}, got, err, "")
	got, err = ParseOSRelease([]byte("# nothing\n"))
	wants(t, OSRelease{}, got, err, "no ID in os-release")
}

const procModules = `mlx5_ib 536576 0 - Live 0x0000000000000000
ib_uverbs 200704 2 mlx5_ib,rdma_ucm, Live 0x0000000000000000
nvidia 14299136 - - Live 0xffffffffc0400000 (O)
efivarfs 28672 1 [permanent], Live 0x0000000000000000
nonsense
big x 0 - Live 0x0
`

func TestParseModules(t *testing.T) {
	got, err := ParseModules([]byte(procModules))
	wants(t, []Module{
		{"mlx5_ib", 536576, nil, "Live", ""},
		{"ib_uverbs", 200704, []string{"mlx5_ib", "rdma_ucm"}, "Live", ""},
		{"nvidia", 14299136, nil, "Live", "O"},
		{"efivarfs", 28672, nil, "Live", ""},
	}, got, err, "line 5: \"nonsense\" is no module\nline 6: size \"x\" is not a number")
}

func TestParseCmdline(t *testing.T) {
	c := ParseCmdline([]byte("BOOT_IMAGE=/vmlinuz-6.17 root=UUID=1-2 quiet iommu=on dyndbg=\"file a.c +p; file b.c +p\" \"quoted key=a b\" pcie-aspm=off iommu=pt -- iommu=init\n"))
	wants(t, Cmdline{
		{"BOOT_IMAGE", "/vmlinuz-6.17", false}, {"root", "UUID=1-2", false}, {"quiet", "", true}, {"iommu", "on", false},
		{"dyndbg", "file a.c +p; file b.c +p", false}, {"quoted key", "a b", false}, {"pcie-aspm", "off", false}, {"iommu", "pt", false},
	}, c, nil, "")
	for key, want := range map[string]string{"iommu": "pt", "pcie_aspm": "off", "quiet": ""} {
		if v, ok := c.Get(key); v != want || !ok {
			t.Errorf("%s: %q, %v; want %q", key, v, ok, want)
		}
	}
	if _, ok := c.Get("amd_iommu"); ok {
		t.Error("amd_iommu was not given")
	}
}

const meminfo = "MemTotal:       131980916 kB\nMemAvailable:   131457632 kB\nSwapTotal:  few kB\nHugePages_Total:       7\nHugepagesize:       2048 kB\nMlocked: 16 kB\nActive: 1 kB\n"

func TestParseMeminfo(t *testing.T) {
	got, err := ParseMeminfo([]byte(meminfo))
	wants(t, Meminfo{
		TotalBytes: new(uint64(131980916 * 1024)), AvailableBytes: new(uint64(131457632 * 1024)), MlockedBytes: new(uint64(16384)),
		HugePages: new(uint64(7)), HugePageBytes: new(uint64(2 << 20)),
	}, got, err, `line 3: SwapTotal "  few kB" is not a size`)
	got, err = ParseMeminfo(nil)
	wants(t, Meminfo{}, got, err, "no MemTotal")
}

func TestParseLimits(t *testing.T) {
	got, err := ParseLimits(fixture.Read(t, "proc_limits_memlock_64k.txt"))
	if err != nil || len(got) != 16 {
		t.Fatalf("%d limits, %v; want 16", len(got), err)
	}
	lock, ok := got.Memlock()
	wants(t, Limit{"Max locked memory", Bound{Value: 65536}, Bound{Value: 65536}, "bytes"}, lock, nil, "")
	wants(t, Limit{"Max cpu time", Bound{Unlimited: true}, Bound{Unlimited: true}, "seconds"}, got[0], nil, "")
	wants(t, Limit{"Max processes", Bound{Value: 9}, Bound{Value: 99}, "processes"}, got[6], nil, "")
	wants(t, Limit{"Max nice priority", Bound{}, Bound{}, ""}, got[13], nil, "")
	if !ok || lock.Soft.AtLeast(1<<20) || !lock.Soft.AtLeast(65536) || !got[0].Soft.AtLeast(1<<63) {
		t.Error("AtLeast")
	}
	got, err = ParseLimits([]byte("Max locked memory  none\nMax file locks  many  few locks\n"))
	wants(t, Limits(nil), got, err, "line 1: \"Max locked memory  none\" has no soft and hard limit\nline 2: \"Max file locks  many  few locks\" has no soft and hard limit")
	if _, ok := got.Memlock(); ok {
		t.Error("memlock was not told")
	}
	_, err = ParseLimits(nil)
	wants(t, nil, nil, err, "no limits")
}

const limitsConf = `# comment
*       soft    memlock   64       # default
*       hard    memlock   unlimited
@rdma   -       memlock   1048576
alice   -       memlock   unlimited
@rdma   soft    nofile    9
root    hard    memlock   infinity
@exempt -
:2000   -       memlock   2
3000:   soft    memlock   3
@40:49  -       memlock   4
bad line
dave    soft    memlock   unlimited
dave    hard    memlock   128
eve     -       memlock   plenty
`

func TestMemlock(t *testing.T) {
	rules, err := ParseLimitsConf([]byte(limitsConf))
	if err == nil || err.Error() != `line 12: "bad line" is no limit` || len(rules) != 13 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	wants(t, LimitRule{"@rdma", "-", "memlock", "1048576", 4}, rules[2], nil, "")
	kib := func(n uint64) *Bound { return &Bound{Value: n * 1024} }
	inf := &Bound{Unlimited: true}
	user := func(name string, uid int, groups ...Named) ID { return ID{UID: uid, User: name, Groups: groups} }
	for _, tt := range []struct {
		user       ID
		soft, hard *Bound
	}{
		{user("bob", 1001), kib(64), inf},
		{user("bob", 1001, Named{109, "rdma"}), kib(1048576), kib(1048576)},
		{user("alice", 1002, Named{109, "rdma"}), inf, inf},
		{user("root", 0, Named{109, "rdma"}), nil, inf}, // "*" and groups pass root by
		{user("x", 1003, Named{7, "exempt"}), nil, nil},
		{user("y", 2000), kib(2), kib(2)},
		{user("z", 3001), kib(3), inf},
		{user("g", 1004, Named{45, "forty-five"}), kib(4), kib(4)},
		{user("dave", 1005), kib(128), kib(128)}, // the hard limit caps the soft one
		{user("eve", 1006), kib(64), inf},        // a value that makes no sense is none
	} {
		soft, hard := Memlock(rules, tt.user)
		wants(t, []*Bound{tt.soft, tt.hard}, []*Bound{soft, hard}, nil, "")
	}
	if soft, hard := Memlock(nil, user("bob", 1)); soft != nil || hard != nil {
		t.Error("a limit from no rules")
	}
}

func TestParseID(t *testing.T) {
	got, err := ParseID([]byte("uid=1000(me) gid=1000(me) groups=1000(me),27(sudo),109(rdma),500 context=unconfined_u:r:t:s0,c1\n"))
	wants(t, ID{1000, "me", Named{1000, "me"}, []Named{{1000, "me"}, {27, "sudo"}, {109, "rdma"}, {500, ""}}}, got, err, "")
	if !got.In("rdma") || !got.In("me") || got.In("video") {
		t.Error("In")
	}
	_, err = ParseID([]byte("id: 'x': no such user"))
	wants(t, nil, nil, err, "no uid")
	_, err = ParseID([]byte("uid=me"))
	wants(t, nil, nil, err, `line 1: uid: "me" is not a number and a name`)
}

func TestParseModulesLoad(t *testing.T) {
	got := ParseModulesLoad([]byte("# comment\n; comment\nib_uverbs\nrdma-ucm\n  nvidia-peermem option=1\n"))
	wants(t, []string{"ib_uverbs", "rdma_ucm", "nvidia_peermem"}, got, nil, "")
}

const modprobeConf = `# mlx4
options mlx4_core log_num_mgm_entry_size=-1
options mlx4-core log-num-mgm-entry-size=-7 \
        debug_level=1 name="a b"
blacklist nouveau
install nvidia-drm /bin/false
install ice /sbin/modprobe --ignore-install ice && /sbin/modprobe irdma
alias net-pf-10 off
frobnicate x
options
`

func TestParseModprobe(t *testing.T) {
	got, err := ParseModprobe([]byte(modprobeConf))
	wants(t, []ModprobeRule{
		{"options", "mlx4_core", "log_num_mgm_entry_size=-1", 2},
		{"options", "mlx4_core", `log-num-mgm-entry-size=-7 debug_level=1 name="a b"`, 4},
		{"blacklist", "nouveau", "", 5},
		{"install", "nvidia_drm", "/bin/false", 6},
		{"install", "ice", "/sbin/modprobe --ignore-install ice && /sbin/modprobe irdma", 7},
		{"alias", "net-pf-10", "off", 8},
	}, got, err, "line 9: \"frobnicate\" is no modprobe command\nline 10: options names no module")
	for param, want := range map[string]string{"log_num_mgm_entry_size": "-7", "debug_level": "1", "name": "a b"} {
		if v, ok := Option(got, "mlx4_core", param); v != want || !ok {
			t.Errorf("%s: %q, %v; want %q", param, v, ok, want)
		}
	}
	if _, ok := Option(got, "mlx5_core", "debug_level"); ok {
		t.Error("an option of another module")
	}
	for module, want := range map[string]bool{"nouveau": true, "nvidia-drm": true, "ice": false, "mlx4_core": false} {
		if Barred(got, module) != want {
			t.Errorf("%s: barred %v, want %v", module, !want, want)
		}
	}
}

func TestParseRDMAConf(t *testing.T) {
	got, err := ParseRDMAConf(fixture.Read(t, "etc_rdma_conf.txt"))
	wants(t, map[string]bool{
		"IPOIB_LOAD": true, "SRP_LOAD": true, "SRPT_LOAD": true, "ISER_LOAD": true, "ISERT_LOAD": true, "RDS_LOAD": false,
		"XPRTRDMA_LOAD": true, "SVCRDMA_LOAD": false, "TECH_PREVIEW_LOAD": false, "FIXUP_MTRR_REGS": false,
	}, got, err, "")
	got, err = ParseRDMAConf([]byte("A=yes\nB=perhaps\n"))
	wants(t, map[string]bool{"A": true}, got, err, `line 2: B is "perhaps", neither yes nor no`)
}

const units = `Id=opensm.service
ActiveState=active
LimitMEMLOCK=18446744073709551615
EnvironmentFiles=/a (ignore_errors=no)
EnvironmentFiles=/b (ignore_errors=no)

Id=ray.service
LimitMEMLOCK=8388608
Environment=
Unit nonsense
`

func TestParseUnits(t *testing.T) {
	got, err := ParseUnits([]byte(units))
	wants(t, []Unit{
		{"Id": "opensm.service", "ActiveState": "active", "LimitMEMLOCK": "18446744073709551615", "EnvironmentFiles": "/a (ignore_errors=no)\n/b (ignore_errors=no)"},
		{"Id": "ray.service", "LimitMEMLOCK": "8388608", "Environment": ""},
	}, got, err, `line 10: "Unit nonsense" is no property`)
	for in, want := range map[string]Bound{"18446744073709551615": {Unlimited: true}, "infinity": {Unlimited: true}, "8388608": {Value: 8388608}} {
		if b, ok := ParseBound(in); !ok || b != want {
			t.Errorf("%s: %+v, %v", in, b, ok)
		}
	}
	if _, ok := ParseBound("8M"); ok {
		t.Error("8M was read")
	}
}

func TestParseTimeDate(t *testing.T) {
	got, err := ParseTimeDate([]byte("Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized=no\nTimeUSec=Sun 2026-11-15 03:53:40 UTC\n"))
	wants(t, TimeDate{"Etc/UTC", new(true), new(false), new(false)}, got, err, "")
	got, err = ParseTimeDate([]byte("NTP=often\nLocalRTC=no\n"))
	wants(t, TimeDate{LocalRTC: new(false)}, got, err, `NTP is "often", neither yes nor no`)
	_, err = ParseTimeDate(nil)
	wants(t, nil, nil, err, "no time and date")
}

const trackingText = `Reference ID    : C0A80001 (ntp1.lan)
Stratum         : 3
Ref time (UTC)  : Sun Nov 15 03:53:40 2026
System time     : 0.000120500 seconds slow of NTP time
Last offset     : -0.000001 seconds
Leap status     : Normal
`

func TestParseTracking(t *testing.T) {
	got, err := ParseTracking([]byte(trackingText))
	wants(t, Tracking{"ntp1.lan", 3, new(0.0001205), "Normal"}, got, err, "")
	if !got.Synchronised() {
		t.Error("not synchronised")
	}
	got, err = ParseTracking([]byte("7F7F0101,,0,0.000000000,-0.250000000,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n"))
	wants(t, Tracking{"", 0, new(0.25), "Not synchronised"}, got, err, "")
	if got.Synchronised() {
		t.Error("synchronised")
	}
	got, err = ParseTracking([]byte("Stratum : high\nSystem time : NaN seconds\n"))
	wants(t, Tracking{}, got, err, "line 1: stratum \"high\" is not a number\nline 2: system time \"NaN\" is not a number")
	_, err = ParseTracking([]byte("506 Cannot talk to daemon\n"))
	wants(t, nil, nil, err, "no tracking of chrony")
}

func TestParseGetent(t *testing.T) {
	addr := netip.MustParseAddr
	got, err := ParseGetent([]byte("10.0.0.1        spark1 spark1.lan # data\n10.0.0.2\nnowhere spark3\n"))
	wants(t, []HostEntry{{addr("10.0.0.1"), []string{"spark1", "spark1.lan"}}, {addr("10.0.0.2"), nil}}, got, err, `line 3: "nowhere" is not an address`)
	got, err = ParseGetent([]byte("fe80::1%eth0    STREAM spark1\nfe80::1%eth0    DGRAM  \nfe80::1%eth0    RAW    \n10.0.0.1        STREAM \n10.0.0.1        DGRAM  \n"))
	wants(t, []HostEntry{{addr("fe80::1%eth0"), []string{"spark1"}}, {addr("10.0.0.1"), nil}}, got, err, "")
}

func TestPackages(t *testing.T) {
	got, err := ParseDpkg([]byte("dpkg-query: no packages found matching mstflint\nrdma-core\t44.0-2\tinstalled\nperftest\t4.5\tconfig-files\nibutils\t\tnot-installed\njunk\n"))
	wants(t, []Package{{"mstflint", "", false}, {"rdma-core", "44.0-2", true}, {"perftest", "", false}, {"ibutils", "", false}}, got, err, `line 5: "junk" is no package`)
	got, err = ParseRPM([]byte("rdma-core\t58.0-1.fc43\npackage mstflint is not installed\nerror: db\n"))
	wants(t, []Package{{"rdma-core", "58.0-1.fc43", true}, {"mstflint", "", false}}, got, err, `line 3: "error: db" is no package`)
}

const dkmsStatus = `mlnx-ofed-kernel, 5.8, 5.15.0-91-generic, x86_64: installed
nvidia/580.95.05, 6.14.0-1010-nvidia, aarch64: installed (WARNING! Diff between built and installed module!)
amdgpu/6.10.5: added
iser, 5.8: broken
what is this
`

func TestParseDKMS(t *testing.T) {
	got, err := ParseDKMS([]byte(dkmsStatus))
	wants(t, []DKMS{
		{"mlnx-ofed-kernel", "5.8", "5.15.0-91-generic", "x86_64", "installed", ""},
		{"nvidia", "580.95.05", "6.14.0-1010-nvidia", "aarch64", "installed", "WARNING! Diff between built and installed module!"},
		{"amdgpu", "6.10.5", "", "", "added", ""},
		{"iser", "5.8", "", "", "broken", ""},
	}, got, err, `line 5: "what is this" is no dkms module`)
}

func TestParseOFED(t *testing.T) {
	for in, want := range map[string]OFED{
		"MLNX_OFED_LINUX-5.8-3.0.7.0:\n": {"MLNX_OFED_LINUX", "5.8-3.0.7.0"},
		"OFED-internal-24.10-0.7.0:":     {"OFED-internal", "24.10-0.7.0"},
	} {
		got, err := ParseOFED([]byte(in))
		wants(t, want, got, err, "")
	}
	_, err := ParseOFED([]byte("ofed_info: command not found-1\n"))
	wants(t, nil, nil, err, "no OFED version")
}

func TestParseModinfo(t *testing.T) {
	got, err := ParseModinfo([]byte("/lib/modules/6.8.0-45-generic/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.zst\n/usr/lib/modules/6.8.0-45-generic/updates/dkms/nvidia-peermem.ko\n(builtin)\nmodinfo: ERROR: Module alias x not found.\n"))
	wants(t, []ModulePath{
		{"mlx5_core", "/lib/modules/6.8.0-45-generic/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.zst", "6.8.0-45-generic", "kernel", false},
		{"nvidia_peermem", "/usr/lib/modules/6.8.0-45-generic/updates/dkms/nvidia-peermem.ko", "6.8.0-45-generic", "updates", false},
		{Builtin: true},
	}, got, err, `line 4: "modinfo: ERROR: Module alias x not found."`)
	if !got[0].InTree() || got[1].InTree() || !got[2].InTree() {
		t.Error("InTree")
	}
}

const devNodes = `crw-rw-rw- 1 0 0 10, 58 Nov 15 03:53 /dev/infiniband/rdma_cm

/dev/infiniband:
total 0
drwxr-xr-x 2 root root     60 Nov 15 03:53 by-path
crw-rw----+ 1 root rdma 231, 192 Nov 15 03:53 uverbs0
crw------- 1 root root  231,   0 Nov 15 03:53 umad0
brw-rw---T 1 root disk    8,   0 Nov 15 03:53 sda
c????????? ? ? ? ? ? broken
`

func TestParseDevNodes(t *testing.T) {
	got, err := ParseDevNodes([]byte(devNodes))
	wants(t, []DevNode{
		{"/dev/infiniband/rdma_cm", false, 0o666, false, "0", "0", 10, 58},
		{"/dev/infiniband/uverbs0", false, 0o660, true, "root", "rdma", 231, 192},
		{"/dev/infiniband/umad0", false, 0o600, false, "root", "root", 231, 0},
		{"/dev/infiniband/sda", true, 0o660, false, "root", "disk", 8, 0},
	}, got, err, `line 9: "c????????? ? ? ? ? ? broken" is no device`)
}

func TestKernel(t *testing.T) {
	for _, tt := range []struct {
		release             string
		major, minor, patch int
		want                bool
	}{
		{"6.17.4-200.fc43.x86_64", 6, 18, 4, false},
		{"6.18.4-200.fc43.x86_64", 6, 18, 4, true},
		{"6.18.3", 6, 18, 4, false},
		{"6.19.0-rc1", 6, 18, 4, true},
		{"7.0-rc2", 6, 18, 4, true},
		{"6.18.44-fc-v445-gpu", 6, 18, 4, true},
		{"5.15.0-91-generic\n", 5, 15, 0, true},
		{"6", 6, 0, 0, false},
		{"", 0, 0, 0, false},
		{"linux", 0, 0, 0, false},
		{"99999999999999999999.1.1", 6, 0, 0, false},
	} {
		if got := KernelAtLeast(tt.release, tt.major, tt.minor, tt.patch); got != tt.want {
			t.Errorf("%q at least %d.%d.%d: %v", tt.release, tt.major, tt.minor, tt.patch, got)
		}
	}
	k, err := ParseKernel("7.0-rc2")
	wants(t, Kernel{7, 0, 0}, k, err, "")
	_, err = ParseKernel("6.")
	wants(t, nil, nil, err, `"6." is not a kernel release`)
}

const profile = `# NCCL
export NCCL_IB_HCA="=mlx5_0:1,mlx5_1:1"   # both
export NCCL_SOCKET_IFNAME=enp1s0f0np0 NCCL_DEBUG='INFO'
if [ -n "$X" ]; then
  export PATH=$PATH:/opt/a\ b
fi
UCX_NET_DEVICES=mlx5_0:1; export UCX_NET_DEVICES
NCCL_IB_DISABLE=1 mpirun -x NCCL_DEBUG=WARN app
declare -x EMPTY=""
alias ll='ls -l'
1BAD=2
`

func TestEnv(t *testing.T) {
	wants(t, []Assignment{
		{"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1", 2},
		{"NCCL_SOCKET_IFNAME", "enp1s0f0np0", 3}, {"NCCL_DEBUG", "INFO", 3},
		{"PATH", "$PATH:/opt/a b", 5},
		{"UCX_NET_DEVICES", "mlx5_0:1", 7},
		{"NCCL_IB_DISABLE", "1", 8},
		{"EMPTY", "", 9},
	}, ParseShellEnv([]byte(profile)), nil, "")
	wants(t, []Assignment{{"B", "two words", 4}, {"C", "x\\n", 4}, {"D", "d", 5}},
		ParseUnitEnv([]byte("[Service]\nEnvironment=A=1\nEnvironment=\nEnvironment=\"B=two words\" \"C=x\\n\"\nEnvironment=D=d\nExecStart=E=5 x\n")), nil, "")

	got, err := ParseEnvList([]byte(`["PATH=/bin:/usr/bin","NCCL_DEBUG=a=b \"c\"","broken"]`))
	wants(t, []Assignment{{"PATH", "/bin:/usr/bin", 0}, {"NCCL_DEBUG", `a=b "c"`, 0}}, got, err, "")
	got, err = ParseEnvList([]byte("A=1\r\nB=\"kept\"\nx\n"))
	wants(t, []Assignment{{"A", "1", 1}, {"B", `"kept"`, 2}}, got, err, "")
	got, err = ParseEnvList([]byte("A=1\x00B=2\x00"))
	wants(t, []Assignment{{"A", "1", 1}, {"B", "2", 2}}, got, err, "")
	_, err = ParseEnvList([]byte("[1"))
	wants(t, nil, nil, err, "environment list: unexpected end of JSON input")
}
