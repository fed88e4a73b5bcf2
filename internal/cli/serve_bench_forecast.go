package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"weft/internal/forecast"
	"weft/internal/job"
	"weft/internal/load"
	"weft/internal/store"
	"weft/internal/why"
)

// expect holds a level against the forecast; why says why it cannot.
func expect(l *load.Level, ask *forecast.Ask) (why string) {
	if ask == nil {
		return ""
	}
	if err := l.Expect(*ask); err != nil {
		return "not compared with the forecast: " + err.Error()
	}
	return ""
}

// benchForecast is what to forecast, nil where too little is known. That is said; it is
// trouble only where a forecast was asked for.
func (a *app) benchForecast(ctx context.Context, f *benchFlags, b *load.Bench, here bool) (*forecast.Ask, error) {
	if f.noForecast {
		return nil, nil
	}
	asked := f.hardware != "" || f.model != "" || a.from != ""
	not := func(why error) (*forecast.Ask, error) {
		if asked {
			return nil, why
		}
		what, _, _ := strings.Cut(why.Error(), "\n")
		b.Says = append(b.Says, "not compared with the forecast: "+what)
		return nil, nil
	}
	want, _, _, err := a.spec(nil)
	if err != nil {
		return nil, err
	}
	if f.hardware == "" && a.from == "" && len(want.Nodes) == 0 && !here {
		return not(errors.New("the nodes of this server are not known: --hardware, -F or a weft.yaml tells them"))
	}
	g := f.forecastFlags
	if g.model == "" {
		g.model = b.Model
		if _, err := forecast.ModelByName(g.model); err != nil && b.Root != "" {
			g.model = b.Root
		}
		if _, err := forecast.ModelByName(g.model); err != nil {
			return not(fail("weft forecast list", "model %q is not known: --forecast-model takes a name or a config.json", b.Model))
		}
	}
	if g.engine == "" {
		g.engine = "vllm"
		if e, err := forecast.EngineByName(b.Server, ""); err == nil {
			g.engine = e.Name
		}
	}
	ask, says, err := a.ask1(ctx, &g)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return not(benchHelp(err))
	}
	say, err := why.Usual(&ask)
	if err != nil {
		return not(fail("weft serve bench --help", "%v", err))
	}
	b.As = g.model
	if say != "" && (f.tp == 0 || f.pp == 0) {
		says = append(says, say)
	}
	for _, s := range says {
		b.Says = append(b.Says, "forecast: "+s)
	}
	return &ask, nil
}

// benchLaunch is what weft serve up started from this folder, where that is one.
func (a *app) benchLaunch() *job.Launch {
	if len(store.At(a.folder).Serves()) != 1 {
		return nil
	}
	l, err := a.served("")
	if err != nil {
		return nil // weft serve status says what is wrong with it
	}
	return l
}

// launched takes from a launch what no flag says: how the model is laid over the nodes.
func (f *benchFlags) launched(l *job.Launch, b *load.Bench) {
	b.Root = cmp.Or(b.Root, l.Model)
	if f.tp+f.pp > 0 || f.engine != "" || l.Fit.TP < 1 || l.Fit.PP < 1 {
		return
	}
	f.tp, f.pp, f.engine = l.Fit.TP, l.Fit.PP, l.Engine
	if l.Fit.Eager && l.Engine == "vllm" {
		f.engine = "vllm-eager"
	}
	b.Says = append(b.Says, fmt.Sprintf("forecast: tp %d, pp %d, %s, as weft serve up started it", f.tp, f.pp, f.engine))
}

// benchHelp makes the next command of a trouble this command's.
func benchHelp(err error) error {
	var t *trouble
	if !errors.As(err, &t) {
		return err
	}
	out := *t
	if strings.HasPrefix(out.next, "weft forecast -") {
		out.next = "weft serve bench --help"
	}
	return &out
}
