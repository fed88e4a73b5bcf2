package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/exec"
	"weft/internal/job"
)

// Down is what became of one node.
type Down struct {
	Node    string   `json:"node"`
	Stopped []string `json:"stopped,omitempty"`
	Removed []string `json:"removed,omitempty"` // files
	Left    []string `json:"left,omitempty"`    // what was not removed, and why
	Failed  string   `json:"failed,omitempty"`  // why the node could not be asked
}

// Down stops every part, the engine first and what it needs last, and removes exactly what Up
// made: files that somebody changed since are left, and said.
func (r *Run) Down(ctx context.Context) []Down {
	out := make([]Down, len(r.Launch.Nodes))
	for i, n := range r.Launch.Nodes {
		out[i].Node = n.Node
	}
	if len(out) == 0 {
		return out
	}
	stop := func(i int, parts []job.Part) {
		for _, p := range slices.Backward(parts) {
			r.stop(ctx, &out[i], p)
		}
	}
	head := r.Launch.Nodes[0].Parts
	if len(head) > 0 {
		stop(0, head[len(head)-1:])
	}
	var wg sync.WaitGroup
	for i := 1; i < len(out); i++ {
		wg.Go(func() { stop(i, r.Launch.Nodes[i].Parts) })
	}
	wg.Wait()
	if len(head) > 1 {
		stop(0, head[:len(head)-1])
	}
	for i := range out {
		wg.Go(func() { r.remove(ctx, &out[i], &r.Launch.Nodes[i]) })
	}
	wg.Wait()
	return out
}

// stop stops one part. One that is not there is stopped.
func (r *Run) stop(ctx context.Context, d *Down, p job.Part) {
	if d.Failed != "" {
		return
	}
	r.say("%s: stopping %s (%s)", d.Node, p.Name, p.Role)
	before, err := r.sh(ctx, d.Node, p.State, "", short)
	if s := stateOf(before, err); s.Why != "" && unreachable(err) {
		d.Failed = err.Error()
		return
	} else if s.Why == "" && (s.Gone || s.Active == "" || s.Active == "inactive" && p.Unit != "") {
		return
	}
	if _, err := r.sh(ctx, d.Node, p.Stop, "", 3*time.Minute); err != nil {
		if unreachable(err) {
			d.Failed = err.Error()
			return
		}
		d.Left = append(d.Left, p.Name+" did not stop: "+err.Error())
		return
	}
	d.Stopped = append(d.Stopped, p.Name)
}

// unreachable reports whether an error is of the way to a node, not of a command there.
func unreachable(err error) bool {
	e, ok := err.(*exec.Error)
	return err != nil && (!ok || e.Class != exec.CommandFailed)
}

// remove takes the files away, and the folders that Up had to make.
func (r *Run) remove(ctx context.Context, d *Down, n *job.NodeLaunch) {
	if d.Failed != "" {
		return
	}
	r.say("%s: removing files", d.Node)
	var script strings.Builder
	script.WriteString("s=; [ \"$(id -u)\" = 0 ] || s=\"sudo -n\"\n")
	for _, p := range n.Parts {
		fmt.Fprintf(&script, "( %s ) || echo 'left %s: what the runtime keeps of it'\n", p.Remove, p.Name)
	}
	units := false
	for _, f := range n.Files {
		units = units || strings.HasPrefix(f.Path, "/etc/")
		sum := ""
		if !f.Secret {
			sum = fmt.Sprintf("%x", sha256.Sum256([]byte(f.Text)))
		}
		fmt.Fprintf(&script, "take '%s' '%s'\n", f.Path, sum)
	}
	folder := r.Launch.Folder
	body := `take() {
	$s test -e "$1" || return 0
	if [ -n "$2" ] && [ "$($s sha256sum "$1" | cut -c1-64)" != "$2" ]; then
		echo "left $1: it was changed since weft wrote it"
		return 0
	fi
	$s rm -f "$1" && echo "removed $1"
}
` + script.String()
	if units {
		body += "$s systemctl daemon-reload\n"
		for _, p := range n.Parts {
			if p.Unit != "" {
				body += fmt.Sprintf("$s systemctl reset-failed %s 2>/dev/null\n", p.Unit)
			}
		}
	}
	body += fmt.Sprintf(`m=$($s cat '%[1]s/made' 2>/dev/null)
$s rm -f '%[1]s/record.json' '%[1]s/made' '%[1]s/made.new'
$s rmdir '%[1]s/vllm' 2>/dev/null
printf '%%s\n' "$m" | sed -n '1!G;h;$p' | while IFS= read -r d; do
	case $d in /*) $s test ! -e "$d/.weft" || [ "$($s ls -A "$d")" != .weft ] || $s rm -f "$d/.weft"; $s rmdir "$d" 2>/dev/null;; esac
done
$s rmdir '%[1]s' 2>/dev/null
! $s test -e '%[1]s' || echo 'left %[1]s: something is in it that weft did not write'
echo done
`, folder)
	out, err := r.sh(ctx, d.Node, body, "", 2*time.Minute)
	if err != nil && unreachable(err) {
		d.Failed = err.Error()
		return
	}
	whole := false
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		whole = whole || line == "done"
		if f, ok := strings.CutPrefix(line, "removed "); ok {
			d.Removed = append(d.Removed, f)
		}
		if f, ok := strings.CutPrefix(line, "left "); ok {
			d.Left = append(d.Left, exec.Sanitise(f))
		}
	}
	if !whole {
		d.Left = append(d.Left, fmt.Sprintf("its files: removing them ended half-way: %v", err))
	}
}

// Found is a launch as a node remembers it.
func Found(ctx context.Context, run *exec.Runner, t exec.Target, name string) (*job.Launch, error) {
	folder := "/var/lib/weft/serve/" + name
	out := exec.Capped{Max: 8 << 20}
	err := run.Run(ctx, t, exec.Job{Script: `s=; [ "$(id -u)" = 0 ] || s="sudo -n"; $s cat '` + folder + `/record.json'`, Stdout: &out, Deadline: short})
	if err != nil {
		return nil, err
	}
	var rec record
	if err := json.Unmarshal(out.Bytes(), &rec); err != nil || rec.Name != name || rec.Node.Node == "" {
		return nil, fmt.Errorf("%s: %s/record.json is not weft's", t.Name, folder)
	}
	return &job.Launch{ID: rec.ID, Name: rec.Name, Executor: rec.Executor, Folder: folder, Nodes: []job.NodeLaunch{rec.Node}}, nil
}
