// Command stand-in stands in for Ray and for inference engines where there is neither a GPU
// nor a container: in the lab's machines. It is no part of weft. Edge.
//
// Called as ray, vllm, rpc-server or llama-server it takes the arguments that weft gives
// these, says what they say, joins its peers over TCP, talks to them over RDMA with weft's
// own engine for every token, serves OpenAI's API, and fails on request in the ways that real
// engines fail (see fail.go). Its tokens mean nothing.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	args := os.Args[1:]
	var err error
	switch name := filepath.Base(os.Args[0]); {
	case name == "ray" && len(args) > 0 && args[0] == "start":
		err = rayStart(flags(args[1:]))
	case name == "ray" && len(args) > 0 && args[0] == "status":
		err = rayStatus(flags(args[1:]))
	case name == "vllm" && len(args) > 1 && args[0] == "serve":
		f := flags(args[2:])
		f["model"] = args[1]
		err = engine(f)
	case name == "rpc-server":
		err = rpcServer(flags(args))
	case name == "llama-server":
		f := flags(args)
		f["model"] = f["m"]
		err = engine(f)
	default:
		err = words("%s: error: unrecognized arguments: %s", name, strings.Join(args, " "))
	}
	if err != nil {
		say("%v", err)
		os.Exit(1)
	}
}

// say prints a line as engines do.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// words is an error in the words of the program that this stands in for.
func words(format string, args ...any) error { return fmt.Errorf(format, args...) }

// info prints a line with vLLM's head.
func info(format string, args ...any) {
	say("(APIServer pid=%d) INFO %s [stand_in.go:1] "+format, append([]any{os.Getpid(), time.Now().Format("01-02 15:04:05")}, args...)...)
}

// flags reads --name value, --name=value and --name.
func flags(args []string) map[string]string {
	f := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !has && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			value = args[i]
		}
		f[name] = value
	}
	return f
}
