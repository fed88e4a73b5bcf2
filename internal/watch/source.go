package watch

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"weft/internal/history"
	"weft/internal/meter"
	"weft/internal/prove"
	"weft/internal/verbs"
	"weft/internal/watch/local"
)

// remote is a node that is asked through its meter.
type remote struct{ *prove.Session }

// Remote opens a meter on a node, which looks and pings.
func Remote(way *prove.Way) func(ctx context.Context, node string) (Source, error) {
	return func(ctx context.Context, node string) (Source, error) {
		s, err := way.Open(ctx, node)
		if err != nil {
			return nil, sense(err)
		}
		return remote{s}, nil
	}
}

func (r remote) Look(ctx context.Context) (*history.Look, error) {
	a, err := r.Ask(ctx, meter.Ask{Do: "look", Within: lookTime.Seconds()})
	if err != nil {
		return nil, sense(err)
	}
	if a.Look == nil {
		return nil, &Rubbish{errors.New("an answer without a look")}
	}
	return a.Look, nil
}

// sense tells rubbish from silence.
func sense(err error) error {
	if err != nil && strings.Contains(err.Error(), "not an answer of weft") {
		return &Rubbish{err}
	}
	return err
}

// here is this machine.
type here struct{ *local.Reader }

// Here opens this machine.
func Here(root string) func(context.Context, string) (Source, error) {
	library := sync.OnceValues(verbs.Load)
	return func(context.Context, string) (Source, error) {
		r := local.New(root)
		r.MTU = func(device string, port int) (int, bool) {
			lib, err := library()
			if err != nil {
				return 0, false
			}
			return meter.MTU(lib, device, port)
		}
		return here{r}, nil
	}
}

func (h here) Look(context.Context) (*history.Look, error) { return h.Reader.Look(time.Now()), nil }

// replay is a node of a dump.
type replay struct{ look history.Look }

// Replay shows nodes as they were collected.
func Replay(looks map[string]*history.Look) func(context.Context, string) (Source, error) {
	return func(_ context.Context, node string) (Source, error) {
		l := looks[node]
		if l == nil {
			return nil, errors.New("it did not answer when it was asked")
		}
		return replay{*l}, nil
	}
}

func (r replay) Look(context.Context) (*history.Look, error) {
	l := r.look
	l.Ports = append([]history.PortLook(nil), l.Ports...)
	return &l, nil
}

func (r replay) Close() {}
