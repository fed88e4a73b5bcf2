package perftest

import (
	"strings"

	"weft/internal/format/printed"
)

// Offer is the options that a program has, by their long names without dashes, and
// whether they take a value. Which there are depends on the version and on how it was
// built: only --help tells.
type Offer map[string]bool

// ReadHelp reads what ib_write_bw --help prints. It is not an error when it prints
// something else: then nothing is offered.
func ReadHelp(text []byte) Offer {
	offer := Offer{}
	for _, line := range printed.Lines(text) {
		if !strings.HasPrefix(line, "-") {
			continue
		}
		// "-d, --ib-dev=<dev>  Use IB device <dev>", "--report_gbits  Report …"
		if _, long, ok := strings.Cut(line, ", --"); ok && line[1] != '-' {
			line = "--" + long
		}
		first, _, _ := strings.Cut(line, " ")
		name, ok := strings.CutPrefix(first, "--")
		if !ok || len(offer) == 1<<10 {
			continue
		}
		name, _, value := strings.Cut(name, "=")
		// --ipv6-addr is listed as if it took an address, and takes none.
		offer[name] = value && name != "ipv6-addr"
	}
	return offer
}

// ReadVersion reads what ib_write_bw --version prints: "Version: 6.24".
func ReadVersion(text []byte) (string, bool) {
	for _, line := range printed.Lines(text) {
		if v, ok := strings.CutPrefix(line, "Version:"); ok {
			v = strings.TrimSpace(v)
			return v, v != "" && len(v) < 16 && strings.Trim(v, "0123456789.") == ""
		}
	}
	return "", false
}
