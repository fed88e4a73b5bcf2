package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// wanted is the failure that was asked for: the word in a file beside the program, so that
// each machine can be told its own. Words: join, tpu, placement, nccl-timeout, hang, oom,
// crash, socket, killed, slow.
func wanted() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(self), "stand-in.fail"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// failing is what a loading engine does when it is told to fail; it returns when it is not.
func failing() error {
	switch wanted() {
	case "placement":
		for n := 10; ; n += 10 {
			info("Waiting for creating a placement group of specs for %d seconds. specs=[{'GPU': 1.0}, {'GPU': 1.0}]. Check `ray status` and `ray list nodes` to see if you have enough resources.", n)
			time.Sleep(5 * time.Second)
		}
	case "nccl-timeout":
		say("[rank0]:[E ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600059 milliseconds before timing out.")
		say("(EngineCore pid=%d) ERROR [core.py:396] EngineCore failed to start.", os.Getpid())
		os.Exit(134)
	case "hang":
		info("Starting to load model stand-in...")
		select {} // silent, and computes nothing
	case "oom":
		say("(EngineCore pid=%d) ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.77 GiB of which 1.10 GiB is free.", os.Getpid())
		say("(EngineCore pid=%d) ERROR [core.py:396] EngineCore failed to start.", os.Getpid())
		os.Exit(1)
	case "crash":
		return words("Traceback (most recent call last): something that nobody knows")
	case "killed":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "slow":
		time.Sleep(time.Hour)
	}
	return nil
}
