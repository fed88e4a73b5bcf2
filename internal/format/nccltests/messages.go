package nccltests

// message is a text in lower case, and what it means.
type message struct {
	has string
	meaning
}

var (
	corrupt    = meaning{Corrupt, "the data that arrived is not the data that was sent", "find the GPU or the link: run it on fewer nodes and GPUs; do not train on this", false}
	belowLimit = meaning{BelowLimit, "the average bus bandwidth is below NCCL_TESTS_MIN_BW", "see the sizes one by one", false}
	noMPI      = meaning{NoMPI, "several processes each took themselves for all of it: the program was built without MPI, and nothing went over the network",
		"build it with MPI=1, and start it with that MPI's own mpirun", false}

	system = meaning{NCCLSystem, "a system call or a library failed, mostly the network, or shared memory in a container", "see NCCL's own warnings: NCCL_DEBUG=WARN, then weft nccl", false}
	inCUDA = meaning{NCCLCUDA, "CUDA failed within NCCL", "see NCCL's own warnings: NCCL_DEBUG=WARN; nvidia-smi and dmesg for the GPU", false}
	intern = meaning{NCCLIntern, "NCCL met what it did not expect, mostly nodes that are not alike", "see that all nodes have the same NCCL, plugin and number of NICs", false}
	usage  = meaning{NCCLUsage, "NCCL was used wrongly: two ranks on one GPU, or different options on some nodes", "give each rank a GPU of its own", false}
	remote = meaning{NCCLRemote, "another rank went away or the network to it failed", "read the first error of the other ranks", true}

	noGPU    = meaning{NoGPU, "there is no GPU for each process here", "see nvidia-smi or rocm-smi on every node; in containers, that the GPUs are passed in; ask for fewer", false}
	memory   = meaning{GPUMemory, "the GPU's memory is full", "end what else uses it, or ask for smaller sizes", false}
	build    = meaning{GPUBuild, "the program was not built for this GPU, or the driver is older than its CUDA", "build it on this node, or update the driver", false}
	broken   = meaning{CUDA, "the GPU failed", "see dmesg for Xid or amdgpu messages, and reset it", false}
	missing  = meaning{Missing, "a program, a library or a module is not there on some node", "install the same on every node, at the same path", false}
	noHosts  = meaning{NoHosts, "mpirun could not start on a node: ssh does not get in without a question, or MPI is not at the same place there", "try ssh NODE true and ssh NODE which orted prted from here", false}
	noSlots  = meaning{NoSlots, "there are more processes than slots", "write slots=N after each host: one for each GPU", false}
	torchMet = meaning{NoMeeting, "the ranks did not all reach the first one in time", "see that its address is reached from every node and its port is open", true}
	crashed  = meaning{Crashed, "a process was ended by a signal", "see dmesg: out of memory, or the program's own crash", false}
	failed   = meaning{Failed, "the run ended without a number", "read what was printed before", false}
)

// warnings are what a run goes on after.
var warnings = []message{
	{"reducing maxbytes to", meaning{LessMemory, "the largest sizes are left out: the GPU's memory is too small for them", "", false}},
}

// messages are what a run ends with. The first that is printed is the cause.
var messages = []message{
	// What CUDA says stands in the lines that say where it failed.
	{"invalid number of gpus", noGPU},
	{"no cuda-capable device", noGPU},
	{"no cuda gpus are available", noGPU},
	{"no hip gpus are available", noGPU},
	{"no rocm-capable device", noGPU},
	{"invalid device ordinal", noGPU},
	{"found no nvidia driver", noGPU},
	{"torch not compiled with cuda", meaning{GPUBuild, "this PyTorch was built without CUDA", "install the build for this GPU", false}},
	{"driver version is insufficient", build},
	{"no kernel image is available", build},
	{"unsupported toolchain", build},
	{"unsupported display driver", build},
	{"shared object initialization failed", build},
	{"invalid device function", build},
	{"system not yet initialized", meaning{FabricDown, "the NVSwitches are not set up", "start nvidia-fabricmanager, of the driver's own version", false}},
	{"out of memory", memory},
	{"ecc error", broken},
	{"illegal memory access", broken},
	{"unspecified launch failure", broken},
	{"hardware error", broken},

	{"unhandled system error", system},
	{"ncclsystemerror", system},
	{"unhandled cuda error", inCUDA},
	{"ncclunhandledcudaerror", inCUDA},
	{"remote process exited or there was a network error", remote},
	{"ncclremoteerror", remote},
	{"duplicate gpu detected", usage},
	{"invalid usage", usage},
	{"ncclinvalidusage", usage},
	{"invalid argument", usage},
	{"ncclinvalidargument", usage},
	{"internal error - please report this issue to the nccl", intern},
	{"ncclinternalerror", intern},
	{"test nccl failure", system},
	{"nccl failure", system},
	{"test cuda failure", broken},
	{"test hip failure", broken},
	{"cuda failure", broken},
	{"hip failure", broken},
	{"test timeout", meaning{Timeout, "an operation did not end in time", "see whether all ranks are still there", true}},
	{"caught collective operation timeout", meaning{Timeout, "an operation did not end in time", "see whether all ranks are still there", true}},

	{"not enough slots available", noSlots},
	{"already filled", noSlots},
	{"no allocated resources", noSlots},
	{"attempt to run as root", meaning{MPIRoot, "mpirun does not run as root unless told so", "run it as a person, or give --allow-run-as-root", false}},
	{"unable to reliably start one or more daemons", noHosts},
	{"has lost communication with a remote daemon", noHosts},
	{"a daemon (pid", noHosts},
	{"unable to open the hostfile", meaning{NoHosts, "the list of hosts is not there", "see its path", false}},
	{"could not resolve hostname", noHosts},
	{"host key verification failed", noHosts},
	{"permission denied (publickey", noHosts},
	{"ssh: connect to host", noHosts},
	{"does not know how to route a message", noHosts},
	{"unable to allocate resources", meaning{NoHosts, "Slurm gave no nodes", "see squeue and sinfo", false}},
	{"failed to tcp connect", meaning{MPITCP, "the ranks found no way to each other over TCP, mostly over a bridge of containers", "name the interface: --mca btl_tcp_if_include and --mca oob_tcp_if_include", false}},
	{"btl_tcp_endpoint", meaning{MPITCP, "the ranks found no way to each other over TCP, mostly over a bridge of containers", "name the interface: --mca btl_tcp_if_include and --mca oob_tcp_if_include", false}},
	{"could not access", missing},
	{"unable to find the specified executable", missing},
	{"command not found", missing},
	{"error while loading shared libraries", missing},
	{"no module named", missing},
	{"_perf: not found", missing},
	{"_perf: no such file", missing},
	{"eaddrinuse", meaning{PortTaken, "the port of the rendezvous is taken, mostly by a run that was left", "end it, or use another port", false}},
	{"address already in use", meaning{PortTaken, "the port of the rendezvous is taken, mostly by a run that was left", "end it, or use another port", false}},
	{"client socket has timed out", torchMet},
	{"rendezvoustimeouterror", torchMet},
	{"rendezvousconnectionerror", torchMet},
	{"connection to the c10d store has failed", torchMet},
	{"or later is needed for", meaning{NotDone, "this NCCL is too old for the operation", "update NCCL", false}},
	{"is not a power of 2, skipping", meaning{NotDone, "a hypercube has a power of two of ranks", "use 2, 4, 8, 16…", false}},
	{"segmentation fault", crashed},
	{"signal: aborted", crashed},
	{"out-of-memory handler", crashed},
	{"oom-kill", crashed},
}

// weak are messages that follow from others.
var weak = []message{
	{"test failure", failed},
	{"primary job  terminated normally", failed},
	{"exited with non-zero status", failed},
	{"exited with exit code", failed},
	{"mpi_abort was invoked", failed},
	{"childfailederror", failed},
	{"traceback (most recent call last)", failed},
	{"runtimeerror", failed},
	{"distbackenderror", failed},
	{"signal 9 (killed)", crashed},
	{"signal 11", crashed},
	{"exitcode: -9", crashed},
}
