// Command weft looks at RDMA clusters, judges them and says what to do.
package main

import (
	"os"

	"weft/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
