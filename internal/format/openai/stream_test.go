package openai

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// token is a chunk as vLLM writes it.
func token(text string) string {
	return fmt.Sprintf(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763200000,"model":"m","choices":[{"index":0,"delta":{"content":%q},"logprobs":null,"finish_reason":null}]}`, text)
}

const (
	role  = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	ended = `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"length"}]}`
	usage = `data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":7,"total_tokens":12,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":3}}}`
	done  = `data: [DONE]`
)

func stream(end string, events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e + end + end)
	}
	return b.String()
}

// all reads a text at once.
func all(text string) (*Stream, error) {
	var s Stream
	_, err := s.Feed([]byte(text))
	return &s, err
}

func TestStream(t *testing.T) {
	events := []string{role, token(" one"), token(` "two" \ ü`), token("\n"), token(""), ended, usage, done}
	for _, end := range []string{"\n", "\r\n", "\r"} {
		s, err := all(stream(end, events...))
		if err != nil || s.Chunks != 3 || s.Events != 8 || !s.Done || s.Finish != "length" {
			t.Errorf("%q: %+v, %v", end, s, err)
		}
		if s.Usage == nil || *s.Usage != (Usage{7, 5, 3}) {
			t.Errorf("%q: %+v", end, s.Usage)
		}
		if s.known.whole.head == "" {
			t.Errorf("%q: nothing was learned", end)
		}
	}
}

// What engines write differs; all of it counts.
func TestText(t *testing.T) {
	for _, c := range []struct {
		name, data string
		chunks     int
	}{
		{"plain completions", `{"choices":[{"index":0,"text":" a","finish_reason":null}]}`, 1},
		{"reasoning of vLLM", `{"choices":[{"delta":{"reasoning_content":" a"}}]}`, 1},
		{"reasoning of others", `{"choices":[{"delta":{"reasoning":" a","content":null}}]}`, 1},
		{"a tool call", `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, 1},
		{"SGLang", `{"choices":[{"delta":{"role":null,"content":" a","reasoning_content":null,"tool_calls":null},"logprobs":null,"matched_stop":null}],"usage":null}`, 1},
		{"parts", `{"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`, 1},
		{"a role", `{"choices":[{"delta":{"role":"assistant","content":""}}]}`, 0},
		{"no choice", `{"choices":[]}`, 0},
		{"a ping", `{"type":"ping"}`, 0},
		{"spaces", `{ "choices" : [ { "delta" : { "content" : " a" } } ] }`, 1},
	} {
		s, err := all("data:" + c.data + "\n\n")
		if err != nil || s.Chunks != c.chunks {
			t.Errorf("%s: %d chunks, want %d: %v", c.name, s.Chunks, c.chunks, err)
		}
	}
}

// llama.cpp counts in its last chunk, whether it was asked or not.
func TestTimings(t *testing.T) {
	last := `data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1,"timings":{"cache_n":40,"prompt_n":2,"prompt_ms":1.5,"predicted_n":3,"predicted_ms":51.7}}`
	s, err := all(stream("\n", `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"a"}}]}`, last, done))
	if err != nil || s.Usage == nil || *s.Usage != (Usage{42, 3, 40}) || s.Finish != "length" {
		t.Errorf("%+v %+v, %v", s, s.Usage, err)
	}
	s, err = all(stream("\n", last, `data: {"choices":[],"usage":{"prompt_tokens":42,"completion_tokens":4}}`, `data: {"choices":[],"usage":{}}`, done))
	if err != nil || s.Usage == nil || *s.Usage != (Usage{42, 4, 40}) {
		t.Errorf("%+v, %v", s.Usage, err)
	}
}

// The fields of server-sent events that are not data, and how lines end.
func TestEvents(t *testing.T) {
	one := token(" a")
	for _, c := range []struct {
		name, text string
		chunks     int
		events     int
	}{
		{"a byte order mark", "\ufeff" + one + "\n\n", 1, 1},
		{"comments", ": hi\n\n:\n" + one + "\n: between\n\n", 1, 1},
		{"other fields", "id: 3\nretry: 10\nnothing\n" + one + "\n\n", 1, 1},
		{"data over two lines", "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\n", 1, 1},
		{"no space", strings.Replace(one, "data: ", "data:", 1) + "\n\n", 1, 1},
		{"not ended by a blank line", one + "\n", 0, 0},
		{"no data", "data\n\ndata:\n\n" + one + "\n\n", 1, 3},
		{"blank lines", "\n\n\n" + one + "\n\n\n\n" + one + "\n\n", 2, 2},
		{"mixed ends", one + "\r\n\n" + one + "\r\r\n" + one + "\n\r\n", 3, 3},
	} {
		s, err := all(c.text)
		if err != nil || s.Chunks != c.chunks || s.Events != c.events {
			t.Errorf("%s: %d chunks in %d events, want %d in %d: %v", c.name, s.Chunks, s.Events, c.chunks, c.events, err)
		}
	}
}

func TestEnd(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
	}{
		{stream("\n", token("a"), ended, done), nil},
		{stream("\n", token("a"), ended), nil},
		{stream("\n", token("a"), done), nil},
		{stream("\n", token("a")), ErrCut},
		{stream("\n", token("a")) + done, ErrCut}, // the blank line is missing
		{"", ErrCut},
	} {
		s, _ := all(c.text)
		if err := s.End(); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.text, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"OpenAI's", `data: {"error":{"message":"out of memory","code":500}}`, "the server says: out of memory"},
		{"vLLM's older", `data: {"object":"error","message":"too  long\n","code":400}`, "the server says: too long"},
		{"an event", "event: error\ndata: {\"detail\":[{\"msg\":\"bad field\"}]}", "the server says: bad field"},
		{"a string", `data: {"error":"no"}`, "the server says: no"},
		{"rubbish", `data: {"choices":[`, "event 1: byte 12: unexpected end of JSON input"},
		{"not an object", "data: hello", "event 1: not a JSON object: hello"},
		{"another type", `data: {"choices":7}`, "cannot unmarshal number"},
		{"a usage that is none", `data: {"usage":{"prompt_tokens":-1}}`, "event 1: a usage of -1 tokens"},
		{"an endless line", "data: " + strings.Repeat("x", MaxLine), ErrLong.Error()},
		{"an endless event", strings.Repeat("data: "+strings.Repeat("x", 1<<16)+"\n", 17), ErrLong.Error()},
	} {
		s, err := all(c.text + "\n\n" + token("a") + "\n\n")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if n, again := s.Feed([]byte(stream("\n", token("b")))); n != 0 || again == nil {
			t.Errorf("%s: it reads on", c.name)
		}
	}
	if s, err := all(strings.Repeat(": "+strings.Repeat("x", 1<<16)+"\n", 100)); err != nil || s.Comments != 100 {
		t.Errorf("many comments: %v", err)
	}
}

// A shape is taken from a chunk only where that string is the text.
func TestLearn(t *testing.T) {
	for _, c := range []struct {
		data string
		want bool
	}{
		{`{"choices":[{"delta":{"content":"a"}}]}`, true},
		{`{"content":"x","choices":[{"delta":{"content":"a"}}]}`, true},
		{`{"choices":[{"delta":{"content":"a","content":"b"}}]}`, true}, // the second counts
		{`{"choices":[{"delta":{"content":"a","content":""}}]}`, false}, // likewise: it has no text
		{`{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}`, false},
		{`{"choices":[{"delta":{"content":{"content":"a"}}}]}`, false},
		{`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`, false},
	} {
		chunk, err := parseChunk([]byte(c.data))
		if err != nil {
			t.Fatal(err)
		}
		k, ok := learn([]byte(c.data))
		if ok = ok && chunk.text() && chunk.learns(); ok != c.want {
			t.Errorf("%s: learned %v %+v", c.data, ok, k)
		}
		if !ok {
			continue
		}
		if n, text := k.match([]byte(c.data)); n != len(c.data) || !text {
			t.Errorf("%s: does not match itself: %d", c.data, n)
		}
		if got := k.head + k.tail; len(got) != len(c.data)-1 {
			t.Errorf("%s: learned %s", c.data, got)
		}
	}
}

// state is what a reader may ask for.
type state struct {
	Chunks, Events, Comments int
	Done                     bool
	Finish                   string
	Usage                    *Usage
	Err                      string
}

func (s *Stream) state() state {
	out := state{s.Chunks, s.Events, s.Comments, s.Done, s.Finish, s.Usage, ""}
	if s.err != nil {
		out.Err = s.err.Error()
	}
	return out
}

// A stream says the same however it is cut, and what is read quickly says the same as
// what is read with encoding/json.
func FuzzStream(f *testing.F) {
	f.Add([]byte(stream("\n", role, token(" a"), token(`\"`), token("ü"), ended, usage, done)), uint64(1))
	f.Add([]byte(stream("\r\n", token(" a"), token(" b"), token(""), done)), uint64(2))
	f.Add([]byte(stream("\r", token(" a"), ": comment", token(" b"))), uint64(3))
	f.Add([]byte("\ufeff"+stream("\n", token(" a"), "event: error\n"+token(" b"), token(" c"))), uint64(4))
	f.Add([]byte(stream("\n", token(" a"), token(" b"), `data: {"error":{"message":"x"}}`, token(" c"))), uint64(5))
	f.Add([]byte(stream("\n", token(" a"), strings.Replace(token("b"), "null}]}", "null}]", 1))), uint64(6))
	f.Add([]byte(stream("\n", token(" a"), `data: {"choices":[{"delta":{"content":"b"}}],"timings":{"cache_n":1,"prompt_n":2,"predicted_n":3}}`, usage)), uint64(8))
	f.Add([]byte("data\n\ndata:\ndata:\n\n"), uint64(9))
	f.Add([]byte(`data: {"choices":[{"text":"\u12x4"}]}`+"\n\n"), uint64(7))
	f.Fuzz(agree)
}

// Streams that are almost right: events in any order and with any end, and here and there
// a byte more, less or other.
func TestAlmostRight(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	events := []string{role, token(" a"), token(" b"), token(""), token(`"\u00e9\n`), ended, usage, ": ping", "event: error", "id: 1", "data:", "",
		`data: {"choices":[{"text":" a"}]}`, `data: {"choices":[{"delta":{"content":"a","reasoning":"b"}}]}`, `data: {"choices":[{"delta":{"content":"a","content":""}}]}`,
		`data: {"error":"no"}`, "data: {\n", `data: {"choices":[{"delta":{"content":"a"}}],"timings":{"predicted_n":1}}`}
	ends := []string{"\n\n", "\r\n\r\n", "\r\r", "\n", "\r\n", "\n\r\n"}
	for range 6_000 {
		var b []byte
		end := ends[r.IntN(len(ends))]
		for range 1 + r.IntN(8) {
			if r.IntN(8) == 0 {
				end = ends[r.IntN(len(ends))]
			}
			e := events[r.IntN(len(events))]
			if r.IntN(2) == 0 {
				e = token(" again")
			}
			b = append(append(b, e...), end...)
		}
		if r.IntN(20) == 0 {
			b = append(b, done+end...)
		}
		for range r.IntN(3) {
			at := r.IntN(len(b))
			switch b = slices.Clone(b); r.IntN(3) {
			case 0:
				b = slices.Delete(b, at, at+1)
			case 1:
				b = slices.Insert(b, at, `"\{}:,x0`[r.IntN(8)])
			default:
				b[at] = "\r\n\"\\ }"[r.IntN(6)]
			}
			if len(b) == 0 {
				break
			}
		}
		agree(t, b, r.Uint64())
	}
}

// agree reads a text in four ways, which must say the same.
func agree(t *testing.T, text []byte, cuts uint64) {
	if len(text) > 1<<16 {
		return
	}
	var whole, byteWise, cut Stream
	slow := Stream{plain: true}
	whole.Feed(text)
	slow.Feed(text)
	for i := range text {
		byteWise.Feed(text[i : i+1])
	}
	sum := 0
	for rest := text; len(rest) > 0; {
		cuts = cuts*6364136223846793005 + 1442695040888963407
		n := 1 + int(cuts>>33)%min(len(rest), 700)
		k, _ := cut.Feed(rest[:n])
		sum += k
		rest = rest[n:]
	}
	want := slow.state()
	for name, s := range map[string]*Stream{"whole": &whole, "by bytes": &byteWise, "cut": &cut} {
		if got := s.state(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\n%s: %+v (%+v), with encoding/json %+v (%+v)", text, name, got, got.Usage, want, want.Usage)
		}
	}
	if sum != cut.Chunks || want.Chunks > want.Events {
		t.Fatalf("%d chunks were told, %d counted in %d events", sum, cut.Chunks, want.Events)
	}
}

func FuzzModels(f *testing.F) {
	f.Add([]byte(`{"object":"list","data":[{"id":"m","owned_by":"vllm","root":"/m","parent":null,"max_model_len":4096}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := Models(b)
		if err != nil && all != nil {
			t.Fatal("models and an error")
		}
		for _, m := range all {
			if m.ID == "" {
				t.Fatal("a model without a name")
			}
		}
		if s := Message(b); len([]rune(s)) > 201 {
			t.Fatalf("a message of %d letters", len([]rune(s)))
		}
	})
}

// BenchmarkFeed is what one token costs to read, by itself.
func BenchmarkFeed(b *testing.B) {
	event := []byte(token(" word") + "\n\n")
	var s Stream
	s.Feed(event)
	b.SetBytes(int64(len(event)))
	for b.Loop() {
		s.Feed(event)
	}
}
