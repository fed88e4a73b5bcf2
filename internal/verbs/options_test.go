package verbs

import (
	"strings"
	"testing"
	"time"
)

// card is a device as a driver would describe it, without one.
func card() *Device {
	d := &Device{name: "mlx5_0", port: 1}
	d.attr.maxQPWR, d.attr.physPortCnt = 8192, 1
	d.link.activeMTU, d.link.gidTblLen = 5, 16
	return d
}

func TestOptionsAreFilled(t *testing.T) {
	o, err := Options{Wait: Poll}.filled(card())
	want := Options{Op: Write, Size: 65536, Depth: 128, Batch: 16, Inline: 220, MTU: 4096, Timeout: 14, Retry: 7, Wait: Poll, Stall: 10 * time.Second}
	if err != nil || o != want {
		t.Errorf("%+v, %v", o, err)
	}
	soft := card()
	soft.attr.vendorID = makerRXE
	if o, err := (Options{}).filled(soft); err != nil || o.Timeout != 18 || o.Wait == Auto {
		t.Errorf("in software: %+v, %v", o, err)
	}
	small := card()
	small.attr.maxQPWR = 10
	if o, err := (Options{}).filled(small); err != nil || o.Depth != 10 || o.Batch != 10 {
		t.Errorf("on a small card: %+v, %v", o, err)
	}
	if again, err := o.filled(card()); err != nil || again != o {
		t.Errorf("filled twice: %+v, %v", again, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		`operation "atomic"`: {Op: "atomic"},
		`wait "sleep"`:       {Wait: "sleep"},
		"MTU 1500":           {MTU: 1500},
		"size -1":            {Size: -1},
		"size 1073741825":    {Size: 1<<30 + 1},
		"depth 8193":         {Depth: 8193},
		"batch 129":          {Batch: 129},
		"inline -2":          {Inline: -2},
		"GID index 16":       {GID: 16},
		"service level 16":   {SL: 16},
		"traffic class 256":  {TrafficClass: 256},
		"timeout 32":         {Timeout: 32},
		"retry 8":            {Retry: 8},
		"stall -1s":          {Stall: -time.Second},
	} {
		if _, err := o.filled(card()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	slow := card()
	slow.link.activeMTU = 3
	if _, err := (Options{MTU: 4096}).filled(slow); err == nil || !strings.Contains(err.Error(), "want 256 to 1024 on mlx5_0/1") {
		t.Errorf("%v", err)
	}
}

func TestMTU(t *testing.T) {
	for code, bytes := range map[uint32]int{0: 0, 1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096, 6: 0} {
		if got := mtuBytes(code); got != bytes {
			t.Errorf("code %d is %d bytes, want %d", code, got, bytes)
		}
		if bytes != 0 && mtuCode(bytes) != code {
			t.Errorf("%d bytes have code %d, want %d", bytes, mtuCode(bytes), code)
		}
	}
	if mtuCode(1500) != 0 {
		t.Error("1500 is no MTU of InfiniBand's")
	}
}
