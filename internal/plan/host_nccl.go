package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/env"
	"weft/internal/fact"
	"weft/internal/job"
)

// mendEnv gives a variable that names what is not there the value that weft env prints,
// or takes it out where NCCL chooses better by itself.
func mendEnv(d *draft, n *fact.Node, f check.Finding) error {
	if err := unseen(f); err != nil {
		return err
	}
	if f.Subject.Part == check.NCCLConf {
		return d.writeNCCLConf(n)
	}
	i := slices.IndexFunc(n.Settings.Env, func(v fact.EnvVar) bool { return v.Name+"="+v.Value+" in "+v.Where == f.Got })
	if i < 0 {
		return byHand("it is set twice, and which one is meant is the owner's to say")
	}
	v := n.Settings.Env[i]
	switch {
	case v.Name == "NCCL_IB_DISABLE" || v.Name == "NCCL_NET" || v.Name == "NCCL_IGNORE_NET_MISMATCH" || v.Name == "NCCL_IB_GID_INDEX":
		return d.setEnv(n, v.Where, v.Name, nil)
	case strings.HasPrefix(f.Want, "NCCL_IB_HCA beside"):
		if d.has(n, "env"+check.NCCLConf+":NCCL_IB_HCA") {
			return nil // weft.yaml's wish has it there, which is beside every other
		}
		return d.setFromJob(n, v.Where, "NCCL_IB_HCA")
	}
	return d.setFromJob(n, v.Where, v.Name)
}

// writeNCCLConf puts NCCL's variables of weft env that are set nowhere into the file
// that every NCCL reads. How much NCCL says stays with the one who starts a job.
func (d *draft) writeNCCLConf(n *fact.Node) error {
	for _, v := range job.Env(d.Case, n) {
		if !strings.HasPrefix(v.Name, "NCCL_") || v.Name == "NCCL_DEBUG" || check.EnvSet(n, v.Name) {
			continue
		}
		if err := d.setEnv(n, check.NCCLConf, v.Name, &v.Value); err != nil {
			return err
		}
	}
	return nil
}

// mendSymmetry has a node that offers NCCL more ports than the others offer those of
// the data plane alone, where that makes it equal.
func mendSymmetry(d *draft, n *fact.Node, f check.Finding) error {
	if f.Status != check.Fail || n == nil {
		return byHand("the ports differ, not the list of them")
	}
	word, _, _ := strings.Cut(f.Want, ",")
	want, err := strconv.Atoi(word)
	list, ok := jobVar(d, n, "NCCL_IB_HCA")
	if err != nil || !ok || len(strings.Split(list, ",")) != want {
		return byHand("how many ports each node should offer is the owner's to say, in weft.yaml")
	}
	where := check.NCCLConf
	for _, v := range n.Settings.Env {
		if v.Name == "NCCL_IB_HCA" {
			where = v.Where
		}
	}
	return d.setFromJob(n, where, "NCCL_IB_HCA")
}

// jobVar is the value that a job should have for a variable.
func jobVar(d *draft, n *fact.Node, name string) (string, bool) {
	for _, v := range job.Env(d.Case, n) {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}

func (d *draft) setFromJob(n *fact.Node, where, name string) error {
	value, ok := jobVar(d, n, name)
	if !ok {
		return byHand("weft has no value for %s here", name)
	}
	return d.setEnv(n, where, name, &value)
}

// unset is the value of a variable that is not set.
const unset = "unset"

// setEnv is the step that sets a variable in a file, or takes it out.
func (d *draft) setEnv(n *fact.Node, where, name string, value *string) error {
	shell := strings.HasPrefix(where, "/etc/profile.d/")
	if !shell && where != "/etc/environment" && where != check.NCCLConf {
		return byHand("it is set in %s, which is not weft's to edit", where)
	}
	old, there, err := d.read(n, where)
	if err != nil {
		return err
	}
	from, to := unset, unset
	for _, v := range n.Settings.Env {
		if v.Name == name && v.Where == where {
			if from != unset {
				return byHand("%s sets %s twice", where, name)
			}
			from = v.Value
		}
	}
	if from != unset && !there {
		return byHand("%s was not read", where)
	}
	text := ""
	if value == nil {
		text, err = env.Unset(old, name)
	} else {
		to = *value
		text, err = env.Set(old, name, to, shell)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	files, err := d.change(n, where, text)
	if err != nil {
		return err
	}
	if len(files) == 0 || from == to {
		return byHand("%s says so already", where)
	}
	d.add(n, Step{What: "env" + where + ":" + name, From: from, To: to, Files: files, When: Login, Note: "jobs that run keep what they were started with"})
	return nil
}
