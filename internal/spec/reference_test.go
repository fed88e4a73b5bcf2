package spec

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestReferenceIsWhole parses docs/weft.yaml and wants every key of Spec in it.
func TestReferenceIsWhole(t *testing.T) {
	b, err := os.ReadFile("../../docs/weft.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(b)
	if err != nil {
		t.Fatalf("docs/weft.yaml:%v", err)
	}
	if len(s.Nodes) != 4 || s.Data.DSCP != 26 || s.Accept[0].Nodes != "gpu[1-2]" {
		t.Errorf("read as %+v", s)
	}
	keys(t, reflect.TypeFor[Spec](), string(b))
}

func keys(t *testing.T, of reflect.Type, text string) {
	for of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return
	}
	for i := range of.NumField() {
		f := of.Field(i)
		if key := f.Tag.Get("yaml"); !strings.Contains(text, key+":") {
			t.Errorf("docs/weft.yaml does not show %s", key)
		}
		keys(t, f.Type, text)
	}
}
