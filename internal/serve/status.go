package serve

import (
	"context"
	"time"

	"weft/internal/format/raystatus"
	"weft/internal/job"
)

// Status is how a launch is now.
type Status struct {
	Parts  []PartStatus `json:"parts"`
	Ray    string       `json:"ray,omitempty"`
	RayOK  bool         `json:"ray_ok"`
	Health string       `json:"health"` // "it answers 200"
	Serves bool         `json:"serves"`
}

// PartStatus is one part of it.
type PartStatus struct {
	Node string `json:"node"`
	Part string `json:"part"`
	Role string `json:"role"`
	State
	Said string    `json:"said,omitempty"` // what it said last that weft knows
	Bad  []Noticed `json:"bad,omitempty"`  // failures and waits among its last lines
}

// Status looks once at everything.
func (r *Run) Status(ctx context.Context) Status {
	now := time.Now()
	r.followAll(now.Add(-24 * time.Hour))
	r.each(func(n *job.NodeLaunch) {
		mine := r.followers(n.Node)
		states := r.states(ctx, n, mine)
		for _, f := range mine {
			f.state = states[f.part.Name]
			if f.state.Why == "" && !f.state.Gone {
				r.read(ctx, f, now)
			}
		}
	})
	var s Status
	for _, n := range r.Launch.Nodes {
		for _, p := range n.Parts {
			f := r.follow[n.Node+" "+p.Name]
			ps := PartStatus{Node: n.Node, Part: p.Name, Role: p.Role, State: f.state, Said: f.log.Said.What}
			if f.state.Active != "active" || f.state.Restarts > 0 {
				for _, e := range f.log.Events {
					ps.Bad = append(ps.Bad, Noticed{n.Node, p.Name, e})
				}
			}
			s.Parts = append(s.Parts, ps)
		}
	}
	s.RayOK = true
	if ask := r.Launch.RayStatus(); ask != "" {
		out, err := r.sh(ctx, r.Launch.Head().Node, ask, "", short)
		var status raystatus.Status
		if err == nil {
			status, err = raystatus.Parse([]byte(out))
		}
		if err != nil {
			s.Ray, s.RayOK = "Ray cannot be asked: "+lastLine(err.Error()), false
		} else {
			gpus := 0
			for _, n := range r.Launch.Nodes {
				gpus += n.GPUs
			}
			s.RayOK, s.Ray = r.Launch.RaySays(status, &job.Wait{Nodes: len(r.Launch.Nodes), GPUs: gpus})
		}
	}
	a, err := r.Get(ctx, r.Launch.Head().Node, Query{URL: "http://" + r.Launch.Asks() + "/health", Within: 10})
	switch {
	case err != nil:
		s.Health = err.Error()
	default:
		s.Health, s.Serves = a.say(), a.Status == 200
	}
	return s
}

// followAll follows every part from a time on.
func (r *Run) followAll(since time.Time) {
	r.follow = map[string]*follower{}
	for i := range r.Launch.Nodes {
		n := &r.Launch.Nodes[i]
		for j := range n.Parts {
			r.follow[n.Node+" "+n.Parts[j].Name] = &follower{node: n.Node, part: &n.Parts[j], since: since}
		}
	}
}

// Lines follows what parts say and gives every line to tell, until ctx is done or, without
// follow, once. since is how far back it begins.
func (r *Run) Lines(ctx context.Context, since time.Duration, follow bool, tell func(node, part, line string)) {
	r.followAll(time.Now().Add(-since))
	every := r.Every
	if every == 0 {
		every = 2 * time.Second
	}
	for {
		r.each(func(n *job.NodeLaunch) {
			for _, f := range r.followers(n.Node) {
				if f.part.Log == "" {
					continue
				}
				out, err := r.sh(ctx, f.node, f.part.Since(f.cursor, f.lines, time.Since(f.since)), "", short)
				if err != nil {
					if ctx.Err() == nil && f.cursor == "" && f.lines == 0 {
						r.say("%s %s: %v", f.node, f.part.Name, err)
					}
					continue
				}
				r.mu.Lock()
				text := f.take(out)
				for _, line := range splitLines(text) {
					tell(f.node, f.part.Name, line)
				}
				r.mu.Unlock()
			}
		})
		if !follow {
			return
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
	}
}

func splitLines(s string) (lines []string) {
	for len(s) > 0 {
		i := 0
		for i < len(s) && s[i] != '\n' {
			i++
		}
		lines = append(lines, s[:i])
		s = s[min(i+1, len(s)):]
	}
	return lines
}
