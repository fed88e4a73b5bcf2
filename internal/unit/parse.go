package unit

import (
	"fmt"
	"strconv"
)

// maxSize is what no size that a person writes reaches: an exbibyte.
const maxSize = 1 << 60

// ParseSize reads a size as people write it: "16384", "16KiB", "16k", "1.5 MiB". Letters
// are powers of 1024.
func ParseSize(s string) (Size, error) {
	number, word := split(s)
	shift, ok := map[string]uint{"": 0, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30, "t": 40, "tib": 40}[word]
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v >= 0) {
		return 0, fmt.Errorf("%q is no size: want one like 16384, 16KiB or 1.5MiB", s)
	}
	if v *= float64(int64(1) << shift); v > maxSize {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return Size(v), nil
}
