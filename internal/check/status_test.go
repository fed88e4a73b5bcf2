package check

import (
	"encoding/json"
	"testing"
)

func TestStatusSurvivesJSON(t *testing.T) {
	for want := Pass; want <= Fail; want++ {
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Status
		if err := json.Unmarshal(b, &got); err != nil || got != want {
			t.Errorf("%s: got %v, %v", b, got, err)
		}
	}
	var got Status
	if err := json.Unmarshal([]byte(`"fine"`), &got); err == nil {
		t.Errorf("a word that is no status was read as %v", got)
	}
}
