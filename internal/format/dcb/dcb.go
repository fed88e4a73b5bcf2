// Package dcb reads the data centre bridging settings of a port: iproute2's dcb, as JSON and as text, and Mellanox's mlnx_qos. Pure: bytes in, structs out.
package dcb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// What dcb and mlnx_qos may say instead of an answer.
var (
	ErrNotSupported = errors.New("not supported by the device")
	ErrTool         = errors.New("the tool reported an error")
	ErrNothing      = errors.New("nothing of this command in the text")
)

// priorities is the number of priorities and of traffic classes in IEEE 802.1Q.
const priorities = 8

// PFC is `dcb pfc show`. A nil pointer or list was not told.
type PFC struct {
	Cap          *int // priorities that may have PFC at once
	MACsecBypass *bool
	Delay        *int   // bit times
	Enabled      []bool // by priority
	Requests     []uint64
	Indications  []uint64 // both with dcb -s
}

// ETS is `dcb ets show`.
type ETS struct {
	Willing *bool
	Cap     *int
	CBS     *bool
	TCBW    []int    // percent, by traffic class
	PGBW    []int    // percent, by priority group
	TSA     []string // strict, cbs, ets, vendor; by traffic class
	PrioTC  []int    // traffic class, by priority
}

// App is `dcb app show`.
type App struct {
	Default    []int // priorities
	DSCP       []Map
	EtherType  []Map
	StreamPort []Map
	DgramPort  []Map
	Port       []Map
}

// Map is one entry of the table.
type Map struct{ Key, Prio int }

// PrioOf returns the priority that a DSCP value gets. Where several entries
// name it the highest wins, as in mlxsw (fls of the mask that
// dcb_ieee_getapp_dscp_prio_mask_map returns); mlx5 keeps one entry a value.
func (a App) PrioOf(dscp int) (prio int, ok bool) {
	for _, m := range a.DSCP {
		if m.Key == dscp && (!ok || m.Prio > prio) {
			prio, ok = m.Prio, true
		}
	}
	return prio, ok
}

// Buffer is `dcb buffer show`.
type Buffer struct {
	PrioBuffer []int    // buffer, by priority
	Bytes      []uint64 // size, by buffer; text rounds to KiB and MiB
	TotalBytes *uint64
}

// ParsePFC reads `dcb pfc show dev DEV`, with or without -j and -s.
func ParsePFC(b []byte) (PFC, error) {
	r, err := read(b)
	p := PFC{
		Cap: r.int("pfc-cap"), MACsecBypass: r.bool("macsec-bypass"), Delay: r.int("delay"), Enabled: list(r, "prio-pfc", onOff),
		Requests: list(r, "requests", counter), Indications: list(r, "indications", counter),
	}
	return p, r.done(err)
}

// ParseETS reads `dcb ets show dev DEV`, with or without -j.
func ParseETS(b []byte) (ETS, error) {
	r, err := read(b)
	e := ETS{
		Willing: r.bool("willing"), Cap: r.int("ets-cap"), CBS: r.bool("cbs"), TCBW: list(r, "tc-bw", percent), PGBW: list(r, "pg-bw", percent),
		TSA: list(r, "tc-tsa", word), PrioTC: list(r, "prio-tc", class),
	}
	return e, r.done(err)
}

// ParseBuffer reads `dcb buffer show dev DEV`, with or without -j.
func ParseBuffer(b []byte) (Buffer, error) {
	r, err := read(b)
	x := Buffer{PrioBuffer: list(r, "prio-buffer", class), Bytes: list(r, "buffer-size", size)}
	if v := r.scalar("total-size"); v != "" {
		n, e := size(v)
		if e != nil {
			r.errs = append(r.errs, e)
		} else {
			x.TotalBytes = &n
		}
	}
	return x, r.done(err)
}

// ParseApp reads `dcb app show dev DEV`, with or without -j.
func ParseApp(b []byte) (App, error) {
	r, err := read(b)
	a := App{
		DSCP: r.maps("dscp-prio", dscp), EtherType: r.maps("ethtype-prio", r.etherType),
		StreamPort: r.maps("stream-port-prio", port), DgramPort: r.maps("dgram-port-prio", port), Port: r.maps("port-prio", port),
	}
	for _, v := range r.get("default-prio") {
		n, e := class(v.val)
		if e != nil {
			r.errs = append(r.errs, e)
			continue
		}
		a.Default = append(a.Default, n)
	}
	// A table may well be empty: dcb then prints {} or nothing.
	r.used = r.used || len(r.vals) == 0 && (r.json || !r.words)
	return a, r.done(err)
}

// pair is one "key:value" of a list; in JSON lists of scalars the key is the place.
type pair struct{ key, val string }

// reading holds an answer with the names of the text form.
type reading struct {
	json  bool
	words bool // there was text that is no JSON
	used  bool // something of it was asked for
	vals  map[string][]pair
	errs  []error
}

// get returns the values under a name of the text form.
func (r *reading) get(name string) []pair {
	v, ok := r.vals[name]
	r.used = r.used || ok
	return v
}

// read takes either form apart. The error says what dcb refused.
func read(b []byte) (*reading, error) {
	r := &reading{vals: map[string][]pair{}}
	var refused []error
	var doc bytes.Buffer
	num := 0
	for s := range strings.Lines(string(b)) {
		num++
		t := strings.TrimSpace(s)
		if t == "" || t[0] == '#' || printed.Prompt(t) {
			doc.WriteString("\n")
			continue
		}
		if err := complaint(t); err != nil {
			refused = append(refused, fmt.Errorf("line %d: %w", num, err))
			doc.WriteString("\n")
			continue
		}
		if r.json = r.json || t[0] == '{' || t[0] == '['; r.json {
			doc.WriteString(s)
			continue
		}
		r.words = true
		r.text(t)
	}
	if r.json {
		r.object(doc.Bytes())
	}
	return r, errors.Join(refused...)
}

// complaint turns an error message into an error, and returns nil for anything else.
func complaint(s string) error {
	low := strings.ToLower(s)
	switch {
	case strings.HasPrefix(s, "Attribute "), strings.HasPrefix(s, "RTNETLINK answers:"), strings.HasPrefix(s, "Error:"), strings.HasPrefix(s, "Cannot "):
		if strings.Contains(low, "not supported") || strings.HasPrefix(s, "Attribute not found") {
			return fmt.Errorf("%w: %.120q", ErrNotSupported, s)
		}
	case strings.HasSuffix(low, "not found"), strings.HasPrefix(s, "Object \""), strings.HasPrefix(s, "Traceback "):
	default:
		return nil
	}
	return fmt.Errorf("%w: %.120q", ErrTool, s)
}

// text reads "pfc-cap 8 macsec-bypass off delay 0" and "prio-pfc 0:off 1:on …".
func (r *reading) text(s string) {
	var name string
	for w := range strings.FieldsSeq(s) {
		key, val, mapped := strings.Cut(w, ":")
		switch {
		case mapped && name != "":
			r.vals[name] = append(r.vals[name], pair{key, val})
		case strings.Trim(w, "abcdefghijklmnopqrstuvwxyz-") == "" && w != "on" && w != "off":
			name = w
		case name != "":
			r.vals[name] = append(r.vals[name], pair{"", w})
		}
	}
}

// object reads the JSON form into the same shape.
func (r *reading) object(doc []byte) {
	var obj map[string]any
	if err := printed.JSON(doc, &obj); err != nil {
		r.errs = append(r.errs, err)
		return
	}
	for name, v := range obj {
		name = strings.ReplaceAll(name, "_", "-")
		items, isList := v.([]any)
		if !isList {
			r.vals[name] = []pair{{"", scalar(v)}}
			continue
		}
		for i, item := range items {
			p := pair{strconv.Itoa(i), scalar(item)}
			if kv, ok := item.([]any); ok && len(kv) == 2 { // of the app table
				p = pair{scalar(kv[0]), scalar(kv[1])}
			}
			r.vals[name] = append(r.vals[name], p)
		}
	}
}

// scalar writes a JSON value as the text form does.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "on"
		}
		return "off"
	}
	return ""
}

// done closes a reading: nothing read is an error of its own.
func (r *reading) done(refused error) error {
	if refused == nil && !r.used && len(r.errs) == 0 {
		return ErrNothing
	}
	return errors.Join(refused, errors.Join(r.errs...))
}

func (r *reading) scalar(name string) string {
	if v := r.get(name); len(v) == 1 {
		return v[0].val
	}
	return ""
}

func (r *reading) int(name string) *int {
	n, err := strconv.Atoi(r.scalar(name))
	if err != nil {
		return nil
	}
	return &n
}

func (r *reading) bool(name string) *bool {
	on, err := onOff(r.scalar(name))
	if err != nil {
		return nil
	}
	return &on
}

// list reads values by priority, class or buffer. A list that does not name
// all eight in order is an error rather than a list with holes.
func list[T any](r *reading, name string, one func(string) (T, error)) []T {
	vals := r.get(name)
	if len(vals) == 0 {
		return nil
	}
	var out []T
	for i, p := range vals {
		v, err := one(p.val)
		if p.key != strconv.Itoa(i) || err != nil || i >= priorities {
			r.errs = append(r.errs, fmt.Errorf("%s: %.60q is out of place", name, p.key+":"+p.val))
			return nil
		}
		out = append(out, v)
	}
	if len(out) != priorities {
		r.errs = append(r.errs, fmt.Errorf("%s has %d values, want %d", name, len(out), priorities))
		return nil
	}
	return out
}

func (r *reading) maps(name string, key func(string) (int, error)) []Map {
	var out []Map
	for _, p := range r.get(name) {
		k, err1 := key(p.key)
		v, err2 := class(p.val)
		if err := errors.Join(err1, err2); err != nil {
			r.errs = append(r.errs, fmt.Errorf("%s: %.60q: %w", name, p.key+":"+p.val, err))
			continue
		}
		out = append(out, Map{k, v})
	}
	slices.SortStableFunc(out, func(a, b Map) int { return a.Key - b.Key })
	return out
}

func onOff(s string) (bool, error) {
	if s != "on" && s != "off" {
		return false, fmt.Errorf("%.40q is neither on nor off", s)
	}
	return s == "on", nil
}

func word(s string) (string, error) {
	if s == "" || s == "???" { // dcb's own word for a value it does not know
		return "", fmt.Errorf("%q is unknown", s)
	}
	return s, nil
}

func counter(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }

// bounded reads a number from 0 to limit.
func bounded(s string, base, limit int) (int, error) {
	n, err := strconv.ParseUint(s, base, 32)
	if err != nil {
		return 0, err
	}
	if n > uint64(limit) {
		return 0, fmt.Errorf("%d is over %d", n, limit)
	}
	return int(n), nil
}

func percent(s string) (int, error) { return bounded(s, 10, 100) }
func class(s string) (int, error)   { return bounded(s, 10, priorities-1) }
func port(s string) (int, error)    { return bounded(s, 10, 0xffff) }

// etherType is printed in hexadecimal as text and in decimal as JSON.
func (r *reading) etherType(s string) (int, error) {
	if r.json {
		return bounded(s, 10, 0xffff)
	}
	return bounded(s, 16, 0xffff)
}

// dscp reads a number, or one of the names that iproute2 keeps in rt_dsfield.
func dscp(s string) (int, error) {
	const most = 63 // six bits, RFC 2474
	up := strings.ToUpper(s)
	switch up { // RFC 3246, RFC 5865, RFC 8622
	case "EF":
		return 46, nil
	case "VOICE-ADMIT", "VA":
		return 44, nil
	case "LE":
		return 1, nil
	case "DEFAULT":
		return 0, nil
	}
	if d, ok := strings.CutPrefix(up, "CS"); ok { // RFC 2474: class selectors
		n, err := bounded(d, 10, 7)
		return n * 8, err
	}
	if d, ok := strings.CutPrefix(up, "AF"); ok && len(d) == 2 && d[0] >= '1' && d[0] <= '4' && d[1] >= '1' && d[1] <= '3' { // RFC 2597
		return int(d[0]-'0')*8 + int(d[1]-'0')*2, nil
	}
	return bounded(s, 10, most)
}

// size reads 4096, "0b", "20Kb" and "1.5Mb" (bytes, KiB and MiB: iproute2's print_size).
func size(s string) (uint64, error) {
	unit := 1.0
	for suffix, u := range map[string]float64{"Kb": 1 << 10, "Mb": 1 << 20, "Gb": 1 << 30} {
		if d, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = d, u
			break
		}
	}
	s = strings.TrimSuffix(s, "b")
	if unit == 1 {
		return strconv.ParseUint(s, 10, 64)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f > 1<<30 {
		return 0, fmt.Errorf("%.40q is no size", s)
	}
	return uint64(f * unit), nil
}
