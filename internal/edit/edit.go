// Package edit is what the packages below it are asked for; each writes one foreign
// configuration format. Pure: text in, text out.
package edit

// Netdev is how a network interface should be from the next boot on. What is zero is
// left as it is.
type Netdev struct {
	Name      string
	Kind      string    // "ethernet", "infiniband"
	MTU       int       // bytes
	Addrs     *[]string // exactly these static addresses: "10.20.0.1/24"
	Mode      string    // IPoIB: "datagram", "connected"
	NoDefault bool      // it brings no default route
	Routes    []Route   // static routes to add
}

// Route is a static route.
type Route struct{ To, Via string } // "10.30.0.0/24", "10.20.0.254"; To "default" is 0.0.0.0/0
