package format

var hostReader = Reader{
	Name: "host",
	Why:  "machine, operating system, kernel, memory, clock, who is asking",
	Files: []File{
		{Dir: "/etc", Names: []string{"os-release"}},
		{Dir: "/proc", Names: []string{"cmdline", "meminfo", "sys/kernel/osrelease", "sys/kernel/hostname"}},
		{Dir: "/sys/devices/virtual/dmi/id", Names: []string{"sys_vendor", "product_name", "board_name", "bios_version", "bios_date"}},
		{Dir: "/sys/devices/system/node/node*", Names: []string{"cpulist", "distance"}},
	},
	Cmds: []Cmd{
		{Run: "uname -m"},
		{Run: "id"},
		{Run: "ssh-connection", Sh: `printf '%s\n' "$SSH_CONNECTION"`},
		{Run: "timedatectl show", Quiet: true},
		{Run: "chronyc -c tracking", Quiet: true},
		{Run: "container-runtimes", Sh: `for c in podman docker; do command -v $c || true; done`},
	},
	Read: readHost,
}

var settingsReader = Reader{
	Name: "settings",
	Why:  "kernel modules, limits, services, device files, packages, IOMMU",
	Files: []File{
		{Dir: "/proc", Names: []string{"modules", "self/limits"}},
		{Dir: "/etc/modules-load.d", Names: []string{"*.conf"}},
		{Dir: "/usr/lib/modules-load.d", Names: []string{"*.conf"}},
		{Dir: "/etc", Names: []string{"modules", "rdma/rdma.conf", "rdma/modules/*.conf", "security/limits.conf", "security/limits.d/*.conf"}},
		{Dir: "/etc/modprobe.d", Names: []string{"*.conf"}},
		{Dir: "/sys/module/*/parameters", Names: []string{"log_num_mgm_entry_size", "roce_ena", "send_queue_size", "ipoib_enhanced"}, Quiet: true},
		{Dir: "/sys/kernel/iommu_groups/*", Names: []string{"type"}, Quiet: true},
	},
	Cmds: []Cmd{
		{Run: "modinfo -n mlx5_core", For: "/sys/module/mlx5_core", Quiet: true},
		{Run: "modinfo -n mlx5_ib", For: "/sys/module/mlx5_ib", Quiet: true},
		{Run: "dkms status", Quiet: true},
		{Run: "ofed_info -s", Quiet: true},
		{Run: "ls -l device files", Sh: `ls -ld /dev/infiniband/* /dev/kfd /dev/dri/* /dev/nvidia[0-9]* /dev/nvidiactl 2>/dev/null; true`},
		{Run: "systemctl show units", Sh: `[ -d /run/systemd/system ] || exit 0; systemctl show -p Id,LoadState,ActiveState,UnitFileState,LimitMEMLOCK ` + units},
		{Run: "service limits", Sh: `for u in ` + units + `; do p=$(systemctl show -p MainPID --value "$u" 2>/dev/null); [ "${p:-0}" -gt 0 ] 2>/dev/null && printf '%s ' "$u" && grep 'Max locked memory' /proc/$p/limits; done; true`, Quiet: true},
		{Run: "systemctl show -p DefaultLimitMEMLOCK", Quiet: true},
		{Run: "packages", Sh: `if command -v dpkg-query >/dev/null; then dpkg-query -W -f '${Package}\t${Version}\t${db:Status-Status}\n' ` + debPackages + ` 2>/dev/null; else rpm -q --qf '%{NAME}\t%{VERSION}-%{RELEASE}\n' ` + rpmPackages + `; fi; true`},
	},
	Read: readSettings,
}

// units are the services that a fabric cares about.
const units = "opensm.service opensmd.service docker.service containerd.service podman.service ray.service vllm.service openibd.service nvidia-fabricmanager.service"

// The packages that checks ask for, by distribution.
const (
	debPackages = "rdma-core ibverbs-utils ibverbs-providers rdmacm-utils perftest infiniband-diags ethtool mstflint iproute2 pciutils opensm nvidia-container-toolkit"
	rpmPackages = "rdma-core libibverbs-utils librdmacm-utils libibverbs perftest infiniband-diags ethtool mstflint iproute pciutils opensm nvidia-container-toolkit"
)

var firewallReader = Reader{
	Name: "firewall",
	Why:  "whether RoCE, Ray and NCCL packets are let in",
	Cmds: []Cmd{
		{Run: "firewall-cmd --list-all-zones", Root: true, Quiet: true},
		{Run: "ufw status verbose", Root: true, Quiet: true},
		{Run: "nft -j list ruleset", Root: true, Quiet: true},
	},
	Read: readFirewall,
}

var qosReader = Reader{
	Name: "qos",
	Why:  "PFC, trust, DSCP map, ECN, pause and cables of RDMA ports",
	Files: []File{
		{Dir: netDir + "/*/ecn/roce_np/enable", Names: []string{"*"}, Quiet: true},
		{Dir: netDir + "/*/ecn/roce_rp/enable", Names: []string{"*"}, Quiet: true},
	},
	Cmds: []Cmd{
		{Run: "dcb -j pfc show dev {}", For: rdmaNetdevs, Quiet: true},
		{Run: "dcb -j app show dev {}", For: rdmaNetdevs, Quiet: true},
		{Run: "mlnx_qos -i {}", For: rdmaNetdevs, Root: true, Quiet: true},
		{Run: "ethtool -a {}", For: rdmaNetdevs, Quiet: true},
		{Run: "ethtool -S {}", For: rdmaNetdevs, Quiet: true},
		{Run: "ethtool -m {}", For: rdmaNetdevs, Root: true, Quiet: true},
		{Run: "lldpctl -f json", Root: true, Quiet: true},
	},
	Read: readQoS,
}

var softwareReader = Reader{
	Name: "software",
	Why:  "NCCL variables and libraries, container images, kernel log",
	Cmds: []Cmd{
		// Only these variables leave the node: shell files and containers hold secrets too.
		{Run: "nccl environment", Sh: `grep -HosE '(` + envNames + `)[A-Z0-9_]*=[^[:space:]]*' /etc/environment /etc/environment.d/*.conf /etc/profile.d/*.sh /etc/nccl.conf "$HOME"/.nccl.conf "$HOME"/.bashrc "$HOME"/.profile /etc/systemd/system/*.service /etc/systemd/system/*.d/*.conf /etc/containers/systemd/*.container; true`},
		{Run: "container environment", Sh: `for c in podman docker; do command -v $c >/dev/null || continue; for i in $($c ps -q 2>/dev/null); do $c inspect --format '{{$n := .Name}}{{range .Config.Env}}{{$n}}:{{.}}{{"\n"}}{{end}}' $i; done; done | grep -E ':(` + envNames + `)'; true`, Quiet: true},
		{Run: "nccl libraries", Sh: `ls -1 /usr/lib/*/libnccl.so.*.* /usr/lib64/libnccl.so.*.* /usr/lib/*/libnccl-net*.so* /usr/lib64/libnccl-net*.so* /opt/rocm*/lib/librccl.so.*.* /usr/local/lib/libnccl.so.*.* 2>/dev/null; true`},
		{Run: "podman images --format json", Quiet: true},
		{Run: "docker images", Sh: `docker images --digests --format '{{json .}}'`, Quiet: true},
		{Run: "cdi", Sh: `for d in /etc/cdi /var/run/cdi; do grep -hsE '^kind:|"kind":' $d/*; done; true`},
		{Run: "dmesg", Sh: `dmesg | grep -E 'mlx|irdma|ice |bnxt|infiniband|nvidia|NVRM|AER|thunderbolt|available PCIe' | tail -n 400; true`, Root: true},
	},
	Read: readSoftware,
}

// envNames are the families of variables that steer collectives.
const envNames = "NCCL_|RCCL_|UCX_|GLOO_|OMPI_MCA_|RAY_ADDRESS|VLLM_HOST_IP|TP_SOCKET"
