package trial

import "testing"

func FuzzParseProof(f *testing.F) {
	f.Add([]byte(`{"schema":1,"kind":"proof","id":"1","cells":[{"trial":"tcp.bw","got":5,"status":"pass"}]}`))
	f.Add([]byte(`{"kind":"proof","cells":[{"got":-1,"samples":[1]}],"nodes":[{"versions":{"a":"b"}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseProof(b)
		if err == nil {
			for _, c := range Compare(*p, *p) {
				t.Errorf("a proof differs from itself: %+v", c)
			}
		}
	})
}
