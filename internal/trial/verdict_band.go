package trial

import "weft/internal/check"

// The bands of CHECKS.md, expected numbers: of what a path should reach, 93 % is healthy and
// less than 80 % is broken.
const (
	healthyShare = 0.93
	brokenShare  = 0.80
)

// band is the status of an amount against what is wanted, where more is better. An amount
// whose interval reaches into the next better band gets that one: two runs must not be told
// apart by their noise.
func band(got, high, want Amount) check.Status {
	status := bandOf(got, want)
	if better := bandOf(max(got, high), want); better < status {
		if status == check.Fail {
			return check.Warn
		}
		return better
	}
	return status
}

func bandOf(got, want Amount) check.Status {
	switch share := float64(got) / float64(want); {
	case share >= healthyShare:
		return check.Pass
	case share >= brokenShare:
		return check.Warn
	}
	return check.Fail
}

// latencyBand is the same for latencies, where less is better: low is the near end of the
// interval, want is still healthy and from broken on it is broken.
func latencyBand(got, low, want, broken Amount) check.Status {
	if low <= 0 || low > got {
		low = got
	}
	switch {
	case got <= want || low <= want && got <= broken:
		return check.Pass
	case got <= broken || low <= broken:
		return check.Warn
	}
	return check.Fail
}
