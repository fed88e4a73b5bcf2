// Package lldp reads lldpd's neighbours: `lldpctl -f json` and `-f json0`. Pure: bytes in, structs out.
package lldp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"weft/internal/format/printed"
)

// Neighbor is what was heard on one interface. An empty string was not told.
type Neighbor struct {
	Interface     string // local
	Via           string // LLDP, CDPv2, …
	ChassisName   string
	ChassisIDType string // mac, ifname, local, …
	ChassisID     string
	ChassisDescr  string
	MgmtIPs       []string
	PortIDType    string
	PortID        string
	PortDescr     string
}

// Parse reads either form. json leaves out every list of one and uses names as
// keys; json0 makes everything a list of objects.
func Parse(b []byte) ([]Neighbor, error) {
	var clean bytes.Buffer // comments become blank lines, so that line numbers stay
	for s := range bytes.Lines(b) {
		t := bytes.TrimSpace(s)
		if len(t) > 0 && t[0] == '#' || printed.Prompt(string(t)) {
			s = []byte("\n")
		}
		clean.Write(s)
	}
	var top map[string]any
	if err := printed.JSON(clean.Bytes(), &top); err == io.EOF {
		return nil, errors.New("no JSON in the text")
	} else if err != nil {
		return nil, err
	}
	lldp, ok := top["lldp"]
	if !ok {
		return nil, errors.New("no lldp object in the document")
	}
	var out []Neighbor
	var errs []error
	for _, l := range objects(lldp) {
		for _, iface := range objects(l["interface"]) {
			if name, ok := iface["name"].(string); ok { // json0
				out = append(out, neighbor(name, iface))
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(iface)) {
				bodies := objects(iface[name])
				if len(bodies) == 0 {
					errs = append(errs, fmt.Errorf("interface %.60q holds no object", name))
				}
				for _, body := range bodies {
					out = append(out, neighbor(name, body))
				}
			}
		}
	}
	return out, errors.Join(errs...)
}

func neighbor(name string, body map[string]any) Neighbor {
	n := Neighbor{Interface: name, Via: text(body["via"])}
	c := first(body["chassis"])
	n.ChassisName = text(c["name"])
	// json puts the name of the chassis where its keys would be.
	if _, ok := c["id"]; !ok && len(c) == 1 {
		for key, inner := range c {
			if o := first(inner); o != nil {
				n.ChassisName, c = key, o
			}
		}
	}
	n.ChassisIDType, n.ChassisID = id(c["id"])
	n.ChassisDescr = text(c["descr"])
	n.MgmtIPs = texts(c["mgmt-ip"])
	p := first(body["port"])
	n.PortIDType, n.PortID = id(p["id"])
	n.PortDescr = text(p["descr"])
	return n
}

// first returns the first of v's objects; nil, which has no keys, when it has none.
func first(v any) map[string]any {
	if o := objects(v); len(o) > 0 {
		return o[0]
	}
	return nil
}

// objects returns v's objects, whether v is one or a list of them.
func objects(v any) []map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var out []map[string]any
		for _, x := range v {
			if m, ok := x.(map[string]any); ok {
				out = append(out, m)
			}
		}
		return out
	}
	return nil
}

// texts returns the strings of "a", {"value":"a"} or a list of either.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{strings.TrimSpace(v)}
	case map[string]any:
		if s, ok := v["value"].(string); ok {
			return []string{strings.TrimSpace(s)}
		}
	case []any:
		var out []string
		for _, x := range v {
			if _, nested := x.([]any); !nested {
				out = append(out, texts(x)...)
			}
		}
		return out
	}
	return nil
}

func text(v any) string {
	if t := texts(v); len(t) > 0 {
		return t[0]
	}
	return ""
}

// id reads {"type":"mac","value":"…"}, alone or in a list.
func id(v any) (kind, value string) {
	o := first(v)
	return text(o["type"]), text(o["value"])
}
