package why

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseMeasured reads tokens/s of one sequence as people write it: "22.9",
// "22.9 tok/s", or the time of a token, "43.7ms".
func ParseMeasured(s string) (float64, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	bad := fmt.Errorf("%s: want tokens/s of one sequence, like 22.9, or the time of a token, like 43.7ms", quoted(s))
	time := 0.0
	for _, u := range []struct {
		word  string
		milli float64
	}{{"tokens/s", 0}, {"token/s", 0}, {"tok/s", 0}, {"t/s", 0}, {"ms", 1}, {"µs", 0.001}, {"us", 0.001}} {
		if rest, ok := strings.CutSuffix(text, u.word); ok {
			text, time = strings.TrimSpace(rest), u.milli
			break
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0) {
		return 0, bad
	}
	if time > 0 {
		f = 1000 / (f * time)
	}
	if !(f >= least && f <= most) {
		return 0, fmt.Errorf("%s: want one token in ten minutes to %d each second", quoted(s), most)
	}
	return f, nil
}

func quoted(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return strconv.Quote(s)
}
