package perftest

import (
	"strings"
	"testing"

	"weft/internal/fixture"
)

// TestProblems reads what perftest prints when it fails. Those without a note were
// recorded: of 5.96, 6.06 and 6.24 on a machine without RDMA devices, and of 6.06 and
// 6.24 over rxe in the lab. The others are written after the sources.
func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		kind       Kind
		line       int
		retry      bool
		status     int
		vendor     int
		why        string // a part of it
	}{
		{name: "no devices", kind: NoDevices, line: 1,
			text: " Did not detect devices \n If device exists, check if driver is up\n Unable to find the Infiniband/RoCE device\n"},
		{name: "no such device", kind: NoDevice, line: 2,
			text: "rc=1\nIB device nosuch not found\n Unable to find the Infiniband/RoCE device\n"},
		{name: "no such device, cut", kind: NoDevice, line: 1, text: " Unable to find the Infiniband/RoCE device\n"},
		{name: "no server, 6.06", kind: NoServer, line: 2, retry: true,
			text: "rc=1\nCouldn't connect to 10.10.0.2:18515\nUnable to open file descriptor for socket connection Unable to init the socket connection\n"},
		{name: "no server, cut", kind: NoServer, line: 1, retry: true, text: " Unable to init the socket connection\n"},
		{name: "an option it was not built with, 6.06", kind: GPUBuild, line: 1,
			text: "ib_write_bw: unrecognized option '--use_cuda=0'\n Invalid Command or flag.\n Please check command line and run again.\n\nUsage:\n  ib_write_bw            start a server and wait for connection\n\nOptions:\n  -a, --all  Run sizes from 2 till 2^23\n Raw Ethernet tests do not support -a\n"},
		{name: "an option it was not built with, 6.24", kind: GPUBuild, line: 2,
			text: " Parser function exited with Error\n Unsupported memory type\n"},
		{name: "an option of a newer version", kind: BadOption, line: 1,
			text: "ib_write_bw: unrecognized option '--out_json_file=/tmp/x.json'\n Invalid Command or flag.\n"},
		{name: "events on write", kind: BadOption, line: 1, why: "write tests poll",
			text: " Events feature not available on WRITE verb\n Parser function exited with Error\n"},
		{name: "out of bounds", kind: BadOption, line: 1, text: " Gid index should be between 0 and 64\n Parser function exited with Error\n"},
		{name: "all sizes by duration", kind: BadOption, line: 1,
			text: "Duration mode currently doesn't support running on all sizes.\n WARNING: BW peak won't be measured in this run.\n---\n"},
		{name: "two directions of latency", kind: BadOption, line: 1, text: " Bidirectional is only available in BW test\n Parser function exited with Error\n"},
		{name: "only the parser's word", kind: BadOption, line: 1, text: " Parser function exited with Error\n"},

		// After the sources of 6.24, or as people report them.
		{name: "an old Hca message", kind: NoDevice, line: 1, text: " Unable to find the Hca's type\n"},
		{name: "port down", kind: PortDown, line: 1, why: "not active",
			text: " Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context for the device\n"},
		{name: "port without a subnet manager", kind: PortDown, line: 1, why: "no subnet manager",
			text: " Port number 1 state is Init\n Couldn't set the link layer\n Couldn't get context for the device\n"},
		{name: "device that may not be opened", kind: NoAccess, line: 1, text: " Couldn't get context for the device\n"},
		{name: "a queue pair to nowhere", kind: QPFailed, line: 1, why: "GID",
			text: "Failed to modify QP 1399 to RTR\n Unable to Connect the HCA's through the link\n"},
		{name: "a queue pair of 2007", kind: QPFailed, line: 1, text: "Failed to modify RC QP to RTR\n"},
		{name: "completion, two lines", kind: Completion, line: 1, status: 12, vendor: 0x81, why: "do not arrive",
			text: " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n Failed to complete run_iter_bw function successfully\n"},
		{name: "completion, one line", kind: Completion, line: 1, status: 12, vendor: 0x81, why: "transport retry counter exceeded",
			text: "Completion with error at client Failed status 12: wr_id 0 syndrom 0x81 scnt=128, ccnt=0\n"},
		{name: "completion, of a GPU", kind: Completion, line: 1, status: 4, vendor: 0x51, why: "PCIe",
			text: "Completion with error at client\n  Failed status 4: wr_id 0 syndrom 0x51\nscnt=828, ccnt=700\n"},
		{name: "completion, in words", kind: Completion, line: 1, status: 13, why: "no buffer ready",
			text: " Completion with error at server\n Failed status RNR retry counter exceeded (13): wr_id 0\n"},
		{name: "completion, in words alone", kind: Completion, line: 1, status: 10, why: "key",
			text: " Failed status remote access error: wr_id 0 syndrom 0x0\n"},
		{name: "completion, of 2007", kind: Completion, line: 1, status: 5, text: "Completion wth error at client:\nFailed status 5: wr_id 1 syndrom 0xf4\n", vendor: 0xf4},
		{name: "completion, of credits", kind: Completion, line: 1, status: 12, text: "Poll send CQ error status=12 qp 0 credit=1 scredit=1\n"},
		{name: "memlock", kind: NoMemory, line: 1, why: "locked memory",
			text: "Couldn't allocate MR\nfailed to create mr\nFailed to create MR\n Couldn't create IB resources\n"},
		{name: "a GPU without peer memory", kind: GPUMemory, line: 3, why: "peer memory",
			text: "initializing CUDA\nallocated GPU buffer address at 0000002305040000 pointer=0x2305040000\nCouldn't allocate MR\nfailed to create mr\n"},
		{name: "a GPU without peer memory, newer", kind: GPUMemory, line: 2, text: "CUDA device integrated: 0\nCouldn't allocate MR with error=14\n"},
		{name: "a GPU without dma-buf", kind: GPUMemory, line: 2, why: "dma-buf", text: "initializing CUDA\nCouldn't allocate MR with error=93\n"},
		{name: "no GPU", kind: NoGPU, line: 2, text: "initializing CUDA\nThere are no available device(s) that support CUDA\nCouldn't init GPU context: 1\n"},
		{name: "write latency of a GPU", kind: BadOption, line: 1, why: "poll", text: "Perftest supports CUDA latency tests with read/send verbs only\n"},
		{name: "a stale server", kind: PortTaken, line: 1,
			text: "Couldn't listen to port 18515\nUnable to open file descriptor for socket connection\n Unable to init the socket connection\n"},
		{name: "the peer left", kind: PeerGone, line: 1, retry: true,
			text: "ethernet_read_keys: Couldn't read remote address\n Unable to read to socket/rdma_cm\nFailed to exchange data between server and clients\n"},
		{name: "clock", kind: Clock, line: 1, retry: true, text: "Correlation coefficient r^2: 0.753217 < 0.9\nCan't produce a report\n"},
		{name: "GIDs", kind: BadGID, line: 1, text: "\n Found Incompatibility issue with GID types.\n Please Try to use a different IP version.\n\n"[1:]},
		{name: "versions", kind: BadVersion, line: 1, text: "Current implementation is not compatible with versions older than 5.70\n"},
		{name: "silence", kind: Silence, line: 1, text: " Did not get Message for 120 Seconds, exiting..\n Total Received=0, Total Iters Required=1000\n"},
		{name: "rdma_cm", kind: CMFailed, line: 1, retry: true, text: "Received 10 times ADDR_ERROR\n Unable to perform rdma_client function\n Unable to init the socket connection\n"},
		{name: "queues too deep", kind: NoResources, line: 1,
			text: "Requested QP size might be too big. Try reducing TX depth and/or inline size.\nCurrent TX depth is 15000 and inline size is 0 .\nUnable to create QP.\n"},
		{name: "cannot", kind: Unsupported, line: 1, text: " The device does not support On-Demand Paging.\n"},
		{name: "below the limit", kind: BelowLimit, line: 1, text: "Error: BW result is below bw limit\n"},
		{name: "not installed, sh", kind: Missing, line: 1, text: "sh: 1: ib_write_bw: not found\n"},
		{name: "not installed, bash", kind: Missing, line: 1, text: "bash: line 1: ib_write_bw: command not found\n"},
		{name: "a library is missing", kind: Missing, line: 1, text: "ib_write_bw: error while loading shared libraries: libhns.so.1: cannot open shared object file: No such file or directory\n"},
		{name: "crash", kind: Crashed, line: 1, text: "Segmentation fault (core dumped)\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Read([]byte(tc.text))
			if err != nil {
				t.Error(err)
			}
			p := got.Problem
			if p == nil {
				t.Fatalf("no problem in %q", tc.text)
			}
			if p.Kind != tc.kind || p.Line != tc.line || p.Retry != tc.retry || p.Status != tc.status || p.Vendor != tc.vendor || !strings.Contains(p.Why, tc.why) {
				t.Errorf("got %+v", *p)
			}
			if p.Said == "" || p.Why == "" || p.Next == "" && p.Kind != BelowLimit {
				t.Errorf("says too little: %+v", *p)
			}
		})
	}
}

func TestErrorSamples(t *testing.T) {
	for file, want := range map[string]Kind{
		"bookworm-perftest-4.5/err-connrefused.txt": NoServer,
		"bookworm-perftest-4.5/err-nodev.txt":       NoDevice,
		"trixie-perftest-25.01/err-connrefused.txt": NoServer,
		"trixie-perftest-25.01/err-nodev.txt":       NoDevice,
	} {
		got, err := Read(fixture.Read(t, "lab/samples/"+file))
		if err != nil || got.Problem == nil || got.Problem.Kind != want || got.Problem.Line != 2 || len(got.Rows) > 0 {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
	for _, folder := range []string{"bookworm-perftest-4.5/", "trixie-perftest-25.01/"} {
		for _, test := range Tests {
			got, err := Read(fixture.Read(t, "lab/samples/"+folder+test+".stderr"))
			if err != nil || got.Problem != nil || len(got.Rows) > 0 {
				t.Errorf("%s%s: %+v, %v", folder, test, got, err)
			}
			// Only the reads of this rxe complain.
			if reads := strings.HasPrefix(test, "ib_read_"); reads != (len(got.Warnings) == 1 && got.Warnings[0].Kind == Inline) {
				t.Errorf("%s%s: warnings %+v", folder, test, got.Warnings)
			}
		}
	}
}

// TestWarnings reads runs that print something worrying and a number.
func TestWarnings(t *testing.T) {
	const table = " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
	const row = " 65536      1000             46567.34            46557.03\t\t     0.744912\n"
	for _, tc := range []struct {
		said string
		kind Kind
	}{
		{"Conflicting CPU frequency values detected: 5008.116000 != 3295.212000. CPU Frequency is not max.", Frequency},
		{"Using sampled CPU speed 3295 MHz over reported speed 5022 MHz", Frequency},
		{" WARNING: CPU is not PCIe relaxed ordering compliant.", Ordering},
		{"Requested mtu is higher than active mtu ", BadMTU},
		{" Invalid MTU - 5000 ", BadMTU},
		{"Perftest doesn't supports CUDA tests with inline messages: inline size set to 0", Inline},
		{"Device not recognized to implement inline feature. Disabling it", Inline},
		{"libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.", Memlock},
		{"libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': cannot open shared object file", Driver},
		{" new post send flow is not supported, falling back to ibv_post_send", Driver},
		{"Failed to deallocate PD - Device or resource busy", Untidy},
	} {
		got, err := Read([]byte(table + tc.said + "\n" + row))
		if err != nil || len(got.Rows) != 1 || got.Rows[0].Average != mib(4655703) || got.Problem != nil {
			t.Errorf("%q: %+v, %v", tc.said, got, err)
		}
		if len(got.Warnings) != 1 || got.Warnings[0].Kind != tc.kind || got.Warnings[0].Line != 2 || got.Warnings[0].Why == "" {
			t.Errorf("%q: warnings %+v", tc.said, got.Warnings)
		}
	}
}

// TestClock wants numbers of a run whose clock failed to be refused: -F lets it go on with
// a clock of zero.
func TestClock(t *testing.T) {
	for _, text := range []string{
		"Correlation coefficient r^2: 0.75 < 0.9\n#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n65536 1000 0.000000 0.000000 0.000000\n",
		"#bytes #iterations t_min[usec] t_max[usec] t_typical[usec]\n2 1000 inf inf inf\n",
		"#bytes #iterations t_min[usec] t_max[usec] t_typical[usec]\n2 1000 -nan -nan -nan\n",
	} {
		got, err := Read([]byte(text))
		if err != nil || got.Problem == nil || got.Problem.Kind != Clock || !got.Problem.Retry {
			t.Errorf("%q: %+v, %v", text, got.Problem, err)
		}
	}
}

func TestSaidIsCleaned(t *testing.T) {
	got, _ := Read([]byte("\x1b[31mSegmentation fault\x1b[0m " + strings.Repeat("é", 300) + "\xff\n"))
	if got.Problem == nil || strings.Contains(got.Problem.Said, "\x1b") || strings.Contains(got.Problem.Said, "\xff") || len(got.Problem.Said) > maxSaid || !strings.HasSuffix(got.Problem.Said, "é") {
		t.Errorf("%+v", got.Problem)
	}
}
