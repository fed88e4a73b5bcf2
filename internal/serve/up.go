package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/exec"
	"weft/internal/format/englog"
	"weft/internal/format/raystatus"
	"weft/internal/job"
)

// Up does the steps of a launch up to the proof. What fails comes back as a Failure; what was
// started by then still is: the caller takes it down.
func (r *Run) Up(ctx context.Context) error {
	r.follow = map[string]*follower{}
	for i, s := range r.Launch.Order {
		r.step = i
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var err error
		switch s.Do {
		case "write":
			err = r.write(ctx, s.Node)
		case "start":
			err = r.start(ctx, s)
		case "wait":
			err = r.wait(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) node(name string) *job.NodeLaunch {
	for i := range r.Launch.Nodes {
		if r.Launch.Nodes[i].Node == name {
			return &r.Launch.Nodes[i]
		}
	}
	return nil
}

// record is what a node itself knows of a launch: enough to take it away without weft's
// folder. It is written before anything else.
type record struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Executor string         `json:"executor,omitempty"`
	Folder   string         `json:"folder"`
	Node     job.NodeLaunch `json:"node"`
}

// put is a script that writes standard input to a file, whole or not at all, and notes the
// folders that it had to make. mkdir says which: they are taken away again.
const put = `s=; [ "$(id -u)" = 0 ] || s="sudo -n"
umask 077
f='%s'; d=${f%%/*}; m='%s'
$s mkdir -p -v "$d" | sed -n "s/^mkdir: created directory '\(.*\)'$/\1/p" | $s sh -c 'cat >>"$1.new" && { [ ! -d "${1%%/*}" ] || { cat "$1.new" >>"$1" && rm -f "$1.new"; }; }' sh "$m" || exit 1
t=$($s mktemp "$d/.weft.XXXXXX") || exit 1
$s sh -c 'cat >"$1" && chmod %04o "$1" && mv -f "$1" "$2" || { rm -f "$1"; exit 1; }' sh "$t" "$f"
`

// write writes the files of a node.
func (r *Run) write(ctx context.Context, node string) error {
	n := r.node(node)
	r.say("%s: writing files", node)
	rec := record{ID: r.Launch.ID, Name: r.Launch.Name, Executor: r.Launch.Executor, Folder: r.Launch.Folder, Node: *n}
	b, err := json.MarshalIndent(rec, "", " ")
	if err != nil {
		return err
	}
	made := r.Launch.Folder + "/made"
	if _, err := r.sh(ctx, node, makeFolder(r.Launch.Folder, made), "", short); err != nil {
		return r.stopped(ctx, node, "", "its folder could not be made", err)
	}
	files := append([]job.File{{Path: r.Launch.Folder + "/record.json", Mode: 0o600, Text: string(b)}}, n.Files...)
	for _, f := range files {
		text := f.Text
		if f.Secret {
			text = r.secret(f.Path)
		}
		if _, err := r.sh(ctx, node, fmt.Sprintf(put, f.Path, made, f.Mode), text, short); err != nil {
			return r.stopped(ctx, node, "", f.Path+" could not be written", err)
		}
	}
	for _, v := range n.Env {
		if v.Name == "HF_HOME" && r.Launch.Bare == "" {
			script := fmt.Sprintf("test ! -d '%s' || exit 0\n", r.Launch.CacheFolder) + fmt.Sprintf(put, r.Launch.CacheFolder+"/.weft", made, 0o600)
			if _, err := r.sh(ctx, node, script, "models are kept here by weft serve\n", short); err != nil {
				return r.stopped(ctx, node, "", "the folder of models could not be made", err)
			}
		}
	}
	return nil
}

// makeFolder makes the launch's own folder and notes what had to be made.
func makeFolder(folder, made string) string {
	return fmt.Sprintf(`s=; [ "$(id -u)" = 0 ] || s="sudo -n"
umask 077
n=$($s mkdir -p -v '%s' | sed -n "s/^mkdir: created directory '\(.*\)'$/\1/p") && printf '%%s\n' "$n" | $s sh -c 'cat >>"$1"' sh '%s'
`, folder, made)
}

// secret is the text of a secret file.
func (r *Run) secret(path string) string {
	if path == r.Launch.KeyFile {
		return r.Secrets["key"] + "\n"
	}
	values := map[string]string{}
	for _, name := range r.Launch.Secrets {
		values[name] = r.Secrets[name]
	}
	return r.Launch.SecretFile(values)
}

// start starts a part and begins to follow it.
func (r *Run) start(ctx context.Context, s job.Step) error {
	p := r.Launch.Part(s.Node, s.Part)
	r.say("%s: %s", s.Node, s.What)
	if _, err := r.sh(ctx, s.Node, p.Start, "", 3*time.Minute); err != nil {
		return r.stopped(ctx, s.Node, s.Part, "it could not be started", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow[s.Node+" "+s.Part] = &follower{node: s.Node, part: p, moved: time.Now(), since: time.Now()}
	return nil
}

// stopped makes a failure of a command that a node refused; an interruption stays one.
func (r *Run) stopped(ctx context.Context, node, part, what string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	f := &Failure{ID: "node.command", Node: node, Part: part, What: what, Why: err.Error(), Do: "weft check node.read"}
	var e *exec.Error
	if errors.As(err, &e) {
		f.Why = e.Error()
		for line := range strings.Lines(e.Detail) {
			if ev, ok := englog.Read(line); ok && ev.Kind == englog.Fail {
				f.ID, f.What, f.Why, f.Do, f.Line = ev.ID, ev.What, ev.Why, ev.Do, ev.Line
				break
			}
		}
		if strings.Contains(e.Detail, "sudo:") {
			f.Why, f.Do = "only root can start services, and sudo -n refuses: "+lastLine(e.Detail), "let the user become root without a password on this node, or ssh in as root"
		}
	}
	return f
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// wait looks again and again until what a step waits for is there, something failed, or its
// time is over.
func (r *Run) wait(ctx context.Context, s job.Step) error {
	every := r.Every
	if every == 0 {
		every = 2*time.Second + time.Duration(len(r.Launch.Nodes))*50*time.Millisecond // many nodes are asked less often
	}
	pause := every / 4 // what is quick is seen quickly
	deadline := time.Now().Add(s.Wait.Within)
	for {
		if f := r.look(ctx); f != nil {
			return f
		}
		ok, what, err := r.there(ctx, s)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		if ok {
			r.say("%s: %s", s.Node, s.What)
			return nil
		}
		r.askRay(ctx)
		if time.Now().After(deadline) {
			return r.overdue(s, what)
		}
		r.say("%s: waiting until %s: %s", s.Node, s.What, r.news(what))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(every, pause*3/2)
	}
}

// news is what is worth telling while waiting: the newest progress of any part.
func (r *Run) news(what string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := time.Time{}
	for _, f := range r.follow {
		if f.log.Said.What != "" && f.moved.After(newest) {
			newest, what = f.moved, f.log.Said.What
		}
	}
	return what
}

// there reports whether what a step waits for is there; what says how far it is.
func (r *Run) there(ctx context.Context, s job.Step) (ok bool, what string, err error) {
	switch s.Wait.For {
	case "active":
		r.mu.Lock()
		defer r.mu.Unlock()
		f := r.follow[s.Node+" "+s.Part]
		return f.state.Active == "active", f.state.Active, nil
	case "listen":
		out, err := r.sh(ctx, s.Node, job.PortScript, "", short)
		if err != nil {
			return false, err.Error(), nil
		}
		for _, p := range job.Listening(out) {
			if p == s.Wait.Port {
				return true, "", nil
			}
		}
		return false, fmt.Sprintf("nothing listens on port %d yet", s.Wait.Port), nil
	case "ray":
		return r.rayThere(ctx, s)
	case "health":
		a, err := r.Get(ctx, s.Node, Query{URL: "http://" + r.Launch.Asks() + "/health", Within: 10})
		if err != nil {
			return false, err.Error(), nil
		}
		return a.Status == 200, a.say(), nil
	case "model":
		a, err := r.Get(ctx, s.Node, Query{URL: "http://" + r.Launch.Asks() + "/v1/models", Key: r.Secrets["key"], Within: 10})
		if err != nil {
			return false, err.Error(), nil
		}
		if a.Status == 401 || a.Status == 403 {
			return false, "", &Failure{ID: "engine.key", Node: s.Node, Part: s.Part, What: "the engine does not take the key that it was given", Do: "look at the file of --api-key-file: one line, no spaces"}
		}
		return a.Status == 200 && strings.Contains(a.Body, jsonString(r.Launch.Served)), a.say(), nil
	}
	return false, "", fmt.Errorf("nobody knows how to wait for %q", s.Wait.For)
}

func jsonString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string cannot fail
	return strings.TrimSpace(b.String())
}

// askRay asks Ray now and then for what it has while the engine waits for a place.
func (r *Run) askRay(ctx context.Context) {
	r.mu.Lock()
	waits := false
	for _, f := range r.follow {
		waits = waits || slices.ContainsFunc(f.log.Events, func(e englog.Event) bool { return e.ID == "ray.placement" || e.ID == "ray.gpus" })
	}
	waits = waits && r.Launch.Executor == "ray" && time.Since(r.rayAt) > 10*time.Second
	r.mu.Unlock()
	if !waits {
		return
	}
	r.rayAt = time.Now()
	for _, s := range r.Launch.Order {
		if s.Wait != nil && s.Wait.For == "ray" {
			r.rayThere(ctx, s)
		}
	}
}

func (r *Run) rayThere(ctx context.Context, s job.Step) (bool, string, error) {
	out, err := r.sh(ctx, s.Node, r.Launch.RayStatus(), "", short)
	if err != nil {
		return false, "ray status: " + lastLine(err.Error()), nil
	}
	status, err := raystatus.Parse([]byte(out))
	if err != nil {
		return false, "ray status: " + err.Error(), nil
	}
	ok, what := r.Launch.RaySays(status, s.Wait)
	r.mu.Lock()
	r.ray = what
	r.mu.Unlock()
	return ok, what, nil
}

// overdue is the failure of a wait that took too long: what was said meanwhile explains it.
func (r *Run) overdue(s job.Step, what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &Failure{ID: "deadline", Node: s.Node, Part: s.Part, What: fmt.Sprintf("within %s it did not come so far that %s", s.Wait.Within, s.What), Why: what, Do: "weft serve up --deadline gives it longer; weft serve logs shows what it does"}
	if s.Wait.For == "ray" {
		f.ID, f.What, f.Why = "ray.join", what, "a worker has not joined: a firewall drops port 6379 of the head or the ports above 10000 between the nodes, an address is on a network that the others are not on, or its Ray is of another version"
		f.Do = "weft check 'net.*' 'plane.*' node.firewall; the log of the worker that is missing says more"
	}
	if own := r.follow[s.Node+" "+s.Part]; own != nil {
		f.Last = own.log.Last
	}
	for _, x := range r.follow { // what somebody waits for, or failed at, says more
		for _, e := range x.log.Events {
			if e.Kind != englog.Wait && e.Kind != englog.Fail {
				continue
			}
			f.ID, f.Node, f.Part, f.Line = e.ID, x.node, x.part.Name, e.Line
			f.What, f.Why, f.Do, f.Last = e.What+"; "+f.What, e.Why, e.Do, x.log.Last
		}
	}
	if r.ray != "" && !strings.Contains(f.What, r.ray) {
		f.Also = append(f.Also, r.ray)
	}
	return f
}
