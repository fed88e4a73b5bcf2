package load

import (
	"fmt"
	"strconv"
	"strings"
)

// Notes say what is odd about the levels: whatever makes a number mean something else
// than it seems to.
func (b *Bench) Notes() (says []string) {
	at := func(odd func(Level) bool) string {
		var on []string
		for _, l := range b.Levels {
			if l.OK > 0 && odd(l) {
				on = append(on, strconv.Itoa(l.Concurrency))
			}
		}
		switch len(on) {
		case 0:
			return ""
		case len(b.Levels):
			return "all"
		}
		return strings.Join(on, ", ")
	}
	where := func(at string) string {
		if at == "all" {
			return ""
		}
		return " (" + at + " at once)"
	}
	add := func(at, format string, args ...any) {
		if at != "" {
			says = append(says, fmt.Sprintf(format, args...)+where(at))
		}
	}
	var sum Level
	for _, l := range b.Levels {
		sum.OK += l.OK
		sum.Outputs += l.Outputs
		sum.Chunks += l.Chunks
		sum.Prompts += l.Prompts
		sum.Cached += l.Cached
		sum.Early += l.Early
		sum.NoDone += l.NoDone
		sum.Gathered += l.Gathered
	}
	if sum.OK == 0 {
		return nil
	}
	add(at(func(l Level) bool { return l.Counted == "chunks" }), "tokens were counted from chunks, because the server does not count them: where a chunk holds several, tokens/s are more than this")
	add(at(func(l Level) bool { return l.Counted == "both" }), "some streams came without usage: their tokens were counted from chunks")
	add(at(func(l Level) bool {
		return l.Counted == "usage" && float64(l.Outputs) > 1.05*float64(l.Chunks) && l.Chunks > 0
	}),
		"a chunk holds %.1f tokens: the times between are between chunks", float64(sum.Outputs)/float64(max(sum.Chunks, 1)))
	add(at(func(l Level) bool { return l.Counted != "chunks" && l.Early > 0 }), "%d of %d answers ended before %d tokens: they had %d on average", sum.Early, sum.OK, b.Output, sum.Outputs/sum.OK)
	if got := sum.Prompts / sum.OK; !b.Same && sum.Prompts > 0 && b.Prompt > 0 && (got*100 > b.Prompt*105 || got*100 < b.Prompt*95) {
		says = append(says, fmt.Sprintf("prompts had %d tokens, where %d were asked for", got, b.Prompt))
	}
	switch {
	case sum.Prompts <= 0:
	case sum.Cached*20 > sum.Prompts && b.Same:
		says = append(says, fmt.Sprintf("%d %% of the prompts came from the prefix cache, as --same-prompt wants it: the first token comes sooner than with a new prompt", 100*sum.Cached/sum.Prompts))
	case sum.Cached*20 > sum.Prompts:
		says = append(says, fmt.Sprintf("%d %% of the prompts came from the prefix cache: the first token came sooner than with a new prompt; another --seed makes other prompts", 100*sum.Cached/sum.Prompts))
	case b.Same:
		says = append(says, "every prompt was the same: a prefix cache makes the first token come sooner than with a new one")
	}
	add(at(func(l Level) bool { return l.Gathered > 0 }), "all tokens of %d of %d answers came at once, so they have no time of a token: a proxy may gather the stream", sum.Gathered, sum.OK)
	add(at(func(l Level) bool { return l.NoDone > 0 }), "%d streams ended without [DONE]", sum.NoDone)
	add(at(func(l Level) bool { return l.ClientCPU > 0.8 }), "weft itself took most of a core: the numbers may be of the client, not of the server")
	return says
}
