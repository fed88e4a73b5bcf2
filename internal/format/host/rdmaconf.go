package host

import (
	"errors"
	"fmt"
)

// ParseRDMAConf reads /etc/rdma/rdma.conf and files like it: switches that
// are yes or no.
func ParseRDMAConf(b []byte) (map[string]bool, error) {
	on := map[string]bool{}
	var errs []error
	for _, a := range ParseShellEnv(b) {
		switch a.Value {
		case "yes":
			on[a.Key] = true
		case "no":
			on[a.Key] = false
		default:
			errs = append(errs, fmt.Errorf("line %d: %s is %.120q, neither yes nor no", a.Line, a.Key, a.Value))
		}
	}
	return on, errors.Join(errs...)
}
