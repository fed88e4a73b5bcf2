package history

import (
	"time"
)

// growth is how one counter of trouble grew lately. There is one only for counters that
// grew, so that the thousands that never do cost nothing.
type growth struct {
	Last    time.Time  `json:"last"`           // when it last grew
	Minutes [60]uint64 `json:"-"`              // growth in each of the last sixty minutes
	Head    int64      `json:"-"`              // the minute, since 1970, that was last written
	Over    int        `json:"-"`              // looks in a row in which the rate was above the limit
	Until   time.Time  `json:"until"`          // bad until then
	Grew    uint64     `json:"grew,omitempty"` // what made it bad
	Per     float64    `json:"per,omitempty"`  // in so many seconds
	Max     uint64     `json:"max,omitempty"`  // more than so many
}

// add counts growth.
func (g *growth) add(by uint64, at time.Time) {
	g.turn(at)
	g.Minutes[((g.Head%60)+60)%60] += by
	if by > 0 {
		g.Last = at
	}
}

// turn forgets the minutes that are an hour old.
func (g *growth) turn(at time.Time) {
	minute := at.Unix() / 60
	if minute-g.Head >= 60 || minute < g.Head {
		g.Minutes = [60]uint64{}
		g.Head = minute
		return
	}
	for g.Head < minute {
		g.Head++
		g.Minutes[((g.Head%60)+60)%60] = 0
	}
}

// hour is the growth of the last hour.
func (g *growth) hour(at time.Time) (n uint64) {
	g.turn(at)
	for _, m := range g.Minutes {
		n += m
	}
	return n
}

// judge holds growth since the last look against the limits of a counter.
func (g *growth) judge(r Rules, limits []Limit, by uint64, since time.Duration, at time.Time) {
	over, counted := false, false
	for _, l := range limits {
		switch {
		case l.Per == 0 && by > 0:
			g.bad(r, by, since, 0, at)
		case l.Per == 0:
		case l.Per >= time.Hour:
			if n := g.hour(at); by > 0 && n > l.Max {
				g.bad(r, n, time.Hour, l.Max, at)
			}
		default:
			counted = true
			if exceeded(l, by, since) {
				over = true
				if g.Over+1 >= r.Again {
					g.bad(r, by, since, l.Max, at)
				}
			}
		}
	}
	if counted && over {
		g.Over++
	} else {
		g.Over = 0
	}
}

// exceeded: a look shorter than Per is given all of Per, so that one error is no rate.
func exceeded(l Limit, by uint64, since time.Duration) bool {
	return float64(by) > float64(l.Max)*float64(max(since, l.Per))/float64(l.Per)
}

func (g *growth) bad(r Rules, by uint64, per time.Duration, limit uint64, at time.Time) {
	g.Until, g.Grew, g.Per, g.Max = at.Add(r.Sticky), by, per.Seconds(), limit
}

var limitsOf = func() map[string][]Limit {
	m := map[string][]Limit{}
	for _, l := range Limits {
		m[l.Counter] = append(m[l.Counter], l)
	}
	return m
}()
