package demo_test

import "weft/internal/sample"

// strixTP is the cluster of seeds/003 before its owner found out: Fedora 43 as it
// came, with kernel 6.17.
func strixTP() *sample.Cluster {
	c := sample.Strix("strix", 4)
	for _, m := range c.Machines {
		m.Kernel = "6.17.12-300.fc43.x86_64"
	}

	// strix3: the card came up as iWARP; memlock is as Fedora ships it, and the login
	// is no root's, which the kernel would exempt.
	strix3 := c.Machines[2]
	strix3.Device("rocep194s0").IWARP = true
	strix3.Memlock, strix3.Limits = 8<<20, ""
	strix3.User, strix3.Groups = "ai", []string{"ai", "wheel", "render", "video"}

	// strix4: a Mellanox card among Intel's; limits.d was written, and nobody has
	// logged in anew since.
	strix4 := sample.Halo("strix4", 4)
	strix4.Kernel = c.Machines[0].Kernel
	root := strix4.Root("0000:00:02.1", 0, sample.Link{GTs: 16, Width: 4})
	strix4.Plug(sample.ConnectX5, "0000:c2:00.0", root, "rocep194s0", "enp194s0np0", 100)
	strix4.Netdev("enp194s0np0").Addrs = []string{"192.168.100.4/24"}
	strix4.Firewalld("enp194s0np0")
	strix4.Memlock = 8 << 20
	strix4.User, strix4.Groups = strix3.User, strix3.Groups
	c.Machines[3] = strix4
	return c
}
