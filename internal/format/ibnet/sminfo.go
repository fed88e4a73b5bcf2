package ibnet

import (
	"strings"

	"weft/internal/format/printed"
)

// SM is a subnet manager.
type SM struct {
	LID           int
	GUID          string // of the port it runs on
	ActivityCount int    // grows while it lives
	Priority      int
	State         string // NOTACTIVE DISCOVERING STANDBY MASTER, as opensm says them
}

// ParseSminfo reads sminfo, one answer or the answers of several LIDs:
//
//	sminfo: sm lid 1 sm guid 0x100001, activity count 232 priority 0 state 3 SMINFO_MASTER
func ParseSminfo(b []byte) ([]SM, error) {
	var (
		f   faults
		sms []SM
	)
	for num, line := range printed.Lines(b) {
		rest, ok := strings.CutPrefix(line, "sminfo: sm ")
		if !ok {
			f.other(num, line, "sminfo")
			continue
		}
		var s SM
		var ok1, ok2, ok3, ok4 bool
		s.LID, ok1 = after(rest, "lid")
		s.ActivityCount, ok2 = after(rest, "count")
		s.Priority, ok3 = after(rest, "priority")
		state, ok4 := after(rest, "state")
		_, g, _ := strings.Cut(rest, " guid ")
		g, _, _ = strings.Cut(g, ",")
		id, isGUID := guid(g)
		if !ok1 || !ok2 || !ok3 || !ok4 || !isGUID {
			f.Add(num, "sm: %.60q has no lid, guid, count, priority and state", rest)
			continue
		}
		s.GUID = guidText(id)
		if s.State, ok = smState(state); !ok {
			f.Add(num, "state: %d is not an SM state", state)
		}
		sms = append(sms, s)
	}
	return sms, f.Err(len(sms) > 0)
}

// smState: IB_SMINFO_STATE_… in opensm's iba/ib_types.h; the words are those
// of opensm's log.
func smState(n int) (string, bool) {
	switch n {
	case 0:
		return "NOTACTIVE", true
	case 1:
		return "DISCOVERING", true
	case 2:
		return "STANDBY", true
	case 3:
		return "MASTER", true
	}
	return "", false
}
