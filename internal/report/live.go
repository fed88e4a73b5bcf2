package report

import (
	"bytes"
	"encoding/json"
	"html/template"
	"io"
	"slices"

	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/trial"
)

// LiveOptions are what the live page is told beside the moment that it shows.
type LiveOptions struct {
	Title   string       // the cluster's name; "" is the moment's source
	Links   []trial.Link // trial.Links of the last facts: rails, switches, limits; nil draws nodes alone
	Fabric  *fact.Fabric // the same look's, for switches behind switches; may be nil
	Direct  bool         // weft.yaml says that there is no switch (spec.Data.Switch is "none")
	Events  string       // path of the server-sent events; "" is "events"
	Metrics string       // path of the metrics to link to; "" links to none
	Open    string       // "spark1 mlx5_0/1": the port whose counters are shown, as the page's own links ask for it with ?open=, for the page and for its events alike; "" none
}

// LivePart is one piece of the live page: the content of the element with that id.
type LivePart struct {
	ID   string        `json:"id"`
	HTML template.HTML `json:"html"` // made by html/template: safe to put into the page
}

// LiveCSP is the Content-Security-Policy of the live page: nothing but its own script and
// style by their hash, and events of its own server. The page has it as a meta element,
// too; a server adds "; frame-ancestors 'none'" to its header.
func LiveCSP() string { return policy("img-src data:; connect-src 'self'") }

// LivePage writes the whole page.
func LivePage(w io.Writer, l history.Live, o LiveOptions) error {
	v := liveView(l, o)
	return render(w, "live", v)
}

// LiveParts returns what changes from moment to moment, in the order of the page.
func LiveParts(l history.Live, o LiveOptions) ([]LivePart, error) {
	v := liveView(l, o)
	parts := make([]LivePart, 0, len(livePartIDs))
	var b bytes.Buffer
	for _, id := range livePartIDs {
		b.Reset()
		if err := render(&b, "live-"+id, v); err != nil {
			return nil, err
		}
		parts = append(parts, LivePart{"part-" + id, template.HTML(b.String())})
	}
	return parts, nil
}

// LiveChanged returns those of now that are not in was: what a page that has was needs.
func LiveChanged(was, now []LivePart) []LivePart {
	return slices.DeleteFunc(slices.Clone(now), func(p LivePart) bool { return slices.Contains(was, p) })
}

// LiveEvent writes parts as one server-sent event. No parts are an event too: they tell
// the page that the watch is alive and nothing has changed.
func LiveEvent(w io.Writer, parts []LivePart) error {
	if parts == nil {
		parts = []LivePart{}
	}
	b, err := json.Marshal(parts) // escapes line ends, so that it is one line
	if err != nil {
		return err
	}
	var out bytes.Buffer
	out.WriteString("event: parts\ndata: ")
	out.Write(b)
	out.WriteString("\n\n")
	_, err = w.Write(out.Bytes())
	return err
}
