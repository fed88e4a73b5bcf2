package cli

import (
	"cmp"
	"fmt"
	"reflect"

	"weft/internal/forecast"
	"weft/internal/load"
	"weft/internal/store"
)

// whyBench is the newest measurement of this model that weft serve bench kept, with one
// request at a time.
func (a *app) whyBench(f *whyFlags) (measured float64, says []string, err error) {
	none := fail("weft serve bench", "no measurement: --measured takes the tokens/s of one sequence, and no bench of this model with one request at a time was kept")
	if f.batch != 1 {
		return 0, nil, none
	}
	if _, _, a.folder, err = a.spec(nil); err != nil {
		return 0, nil, err
	}
	for _, path := range store.At(a.folder).Benches() {
		text, err := readLimited(path, load.MaxBench)
		if err != nil {
			continue // an older one may do
		}
		b, err := load.Parse(text)
		if err != nil {
			continue
		}
		l, ok := b.Alone()
		if !ok || !f.takes(b) {
			continue
		}
		each, _ := l.Each.Get()
		says = append(says, fmt.Sprintf("measured: %.4g tokens/s of bench %s, one request at a time, of %s; --measured says otherwise", each, b.ID, b.Model))
		if n, ok := l.Context(); ok && !f.contextSet {
			f.context = n
			says = append(says, fmt.Sprintf("context: %d tokens, as the bench had in the middle of its answers", n))
		}
		return each, says, nil
	}
	return 0, nil, none
}

// takes reports whether a bench is of the model that is asked about. Without --model it
// is that of the bench. A config.json has no name to compare: its owner knows.
func (f *whyFlags) takes(b *load.Bench) bool {
	if b.As != "" && b.As == f.model {
		return true
	}
	served, err := forecast.ModelByName(cmp.Or(b.As, b.Model))
	if err != nil && b.Root != "" {
		served, err = forecast.ModelByName(b.Root)
	}
	if f.model == "" {
		if err == nil {
			f.model = served.Name
		}
		return err == nil
	}
	asked, askedErr := forecast.ModelByName(f.model)
	if err != nil || askedErr != nil {
		return askedErr != nil || f.model == b.Model
	}
	served.Name, asked.Name = "", ""
	return reflect.DeepEqual(served, asked)
}
